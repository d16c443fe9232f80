#include "store/s3/explain.h"

#include <gmock/gmock.h>

namespace restante::s3 {
namespace {

using client::Failure;
using client::Response;
using ::testing::HasSubstr;

const RequestFacts kAsked{"PUT", "post", "https://s3.example.com", "eu-west-1",
                          parse_time("2026-11-15T12:00:00Z").value()};

Failure explained(int status, ErrorAnswer error, std::vector<client::Header> headers = {}) {
  Response response;
  response.status = status;
  response.headers = std::move(headers);
  return explain(response, error, kAsked);
}

TEST(Explain, AWrongClockByTheErrorsServerTimeOrElseByTheDateHeader) {
  EXPECT_THAT(explained(403, {"RequestTimeTooSkewed", "", "", "2026-11-15T11:00:00Z"}).sentence,
              HasSubstr("3600 seconds ahead of S3's"));
  EXPECT_THAT(
      explained(403, {"RequestTimeTooSkewed", "", "", ""}, {{"Date", "Sun, 15 Nov 2026 12:30:00 GMT"}}).sentence,
      HasSubstr("1800 seconds behind S3's"));
  EXPECT_THAT(explained(403, {"RequestTimeTooSkewed", "", "", ""}, {{"Date", "some day"}}).sentence,
              HasSubstr("clock is wrong; set it"));
}

TEST(Explain, AWrongRegionWithTheRightOneIfTheAnswerNamesIt) {
  EXPECT_THAT(explained(400, {"AuthorizationHeaderMalformed", "", "us-west-2", ""}).sentence,
              HasSubstr("region us-west-2, not in eu-west-1"));
  EXPECT_THAT(explained(301, {}, {{"x-amz-bucket-region", "us-west-2"}}).sentence, HasSubstr("region us-west-2"));
  EXPECT_THAT(explained(307, {}).sentence, HasSubstr("another region"));
}

TEST(Explain, KeysPermissionsAndBuckets) {
  EXPECT_THAT(explained(403, {"SignatureDoesNotMatch", "x", "", ""}).sentence, HasSubstr("secret key"));
  EXPECT_THAT(explained(403, {"InvalidAccessKeyId", "", "", ""}).sentence, HasSubstr("does not know the access key"));
  EXPECT_THAT(explained(400, {"ExpiredToken", "", "", ""}).sentence, HasSubstr("expired"));
  EXPECT_THAT(explained(400, {"InvalidToken", "", "", ""}).sentence, HasSubstr("session token"));
  EXPECT_THAT(explained(404, {"NoSuchBucket", "", "", ""}).sentence,
              HasSubstr("no bucket post at https://s3.example.com"));
  EXPECT_THAT(explained(403, {"AccessDenied", "", "", ""}).sentence, HasSubstr("may not PUT in bucket post"));
  EXPECT_THAT(explained(403, {}).sentence, HasSubstr("may not PUT in bucket post"));
}

TEST(Explain, AnythingElseWithTheServersMessageOnOneShortLine) {
  const auto failure =
      explained(500, {"Odd", "first\nsecond " + std::string(1000, 'x'), "", ""}, {{"Retry-After", "7"}});
  EXPECT_THAT(failure.sentence, HasSubstr("answered 500 Odd: first second xxx"));
  EXPECT_LT(failure.sentence.size(), 300u);
  EXPECT_EQ(failure.status, 500);
  EXPECT_EQ(failure.code, "Odd");
  EXPECT_EQ(failure.retry_after, std::chrono::seconds(7));
  EXPECT_FALSE(explained(503, {}, {{"Retry-After", "Fri, 24 May 2013 00:00:00 GMT"}}).retry_after);
}

Failure explained_page(int status, std::string body, std::vector<client::Header> headers = {}) {
  Response response;
  response.status = status;
  response.headers = std::move(headers);
  response.body = std::move(body);
  return explain(response, {}, kAsked);
}

TEST(Explain, APageOfAnotherServerIsNotAnAnswerOfS3AndNotAMissingObject) {
  for (const int status : {301, 400, 403, 404, 405}) {
    const auto failure = explained_page(status, "<html>nginx</html>");
    EXPECT_THAT(failure.sentence, HasSubstr("https://s3.example.com does not answer as S3 does: "));
    EXPECT_EQ(failure.status, status);
    EXPECT_FALSE(is_missing(failure));
    EXPECT_FALSE(is_worth_repeating(failure));
    EXPECT_FALSE(may_be_of_keys(failure));
  }
  EXPECT_THAT(explained_page(301, "moved", {{"x-amz-bucket-region", "us-west-2"}}).sentence,
              HasSubstr("region us-west-2"));
  for (const int status : {408, 429, 502, 503}) {
    const auto failure = explained_page(status, "<html>haproxy</html>");
    EXPECT_THAT(failure.sentence, HasSubstr("S3 at https://s3.example.com answered"));
    EXPECT_TRUE(is_worth_repeating(failure));
  }
}

Failure doubted(Failure::Doubt doubt, const std::string& ca_file = {}) {
  Failure failure(Failure::Kind::tls, "no secure connection to s3.example.com:443: no");
  failure.doubt = doubt;
  return explain_certificate(failure, "https://s3.example.com", ca_file);
}

TEST(Explain, AFailedCertificateCheckNamesTheSettingToChange) {
  using Doubt = Failure::Doubt;
  EXPECT_EQ(doubted(Doubt::authority).sentence,
            "no secure connection to s3.example.com:443: no; the certificate of s3.endpoint https://s3.example.com was "
            "issued by none of the system's authorities: set s3.ca_file to the PEM file of its own");
  EXPECT_THAT(doubted(Doubt::authority, "/our/ca.pem").sentence,
              HasSubstr("issued by none in s3.ca_file /our/ca.pem: put its own there"));
  EXPECT_THAT(doubted(Doubt::name).sentence, HasSubstr("issued to another: set s3.endpoint to a name that is in it"));
  EXPECT_THAT(doubted(Doubt::none, "/our/ca.pem").sentence,
              HasSubstr("no; s3.endpoint is https://s3.example.com, s3.ca_file /our/ca.pem"));
  EXPECT_FALSE(is_worth_repeating(doubted(Doubt::authority)));
  const Failure cut(Failure::Kind::cut, "broke off");
  EXPECT_EQ(explain_certificate(cut, "https://s3.example.com", "").sentence, "broke off");
}

TEST(Explain, FailuresThatOtherKeysMayFixAndRequestsThatAreNotSupported) {
  EXPECT_TRUE(may_be_of_keys(explained(400, {"ExpiredToken", "", "", ""})));
  EXPECT_TRUE(may_be_of_keys(explained(400, {"InvalidToken", "", "", ""})));
  EXPECT_TRUE(may_be_of_keys(explained(403, {"InvalidAccessKeyId", "", "", ""})));
  EXPECT_TRUE(may_be_of_keys(explained(403, {})));
  EXPECT_TRUE(may_be_of_keys(explained(401, {})));
  EXPECT_FALSE(may_be_of_keys(explained(404, {"NoSuchKey", "", "", ""})));
  EXPECT_FALSE(may_be_of_keys({Failure::Kind::cut, ""}));
  EXPECT_TRUE(is_unsupported(explained(501, {"NotImplemented", "", "", ""})));
  EXPECT_TRUE(is_unsupported(explained(405, {})));
  EXPECT_TRUE(is_unsupported(explained_page(405, "<html/>")));
  EXPECT_FALSE(is_unsupported(explained(403, {"AccessDenied", "", "", ""})));
  EXPECT_FALSE(is_unsupported(explained(503, {})));
  EXPECT_FALSE(is_unsupported({Failure::Kind::cut, ""}));
}

TEST(Explain, FailuresThatAreWorthRepeating) {
  EXPECT_TRUE(is_worth_repeating(explained(503, {"SlowDown", "", "", ""})));
  EXPECT_TRUE(is_worth_repeating(explained(500, {})));
  EXPECT_TRUE(is_worth_repeating(explained(429, {})));
  EXPECT_TRUE(is_worth_repeating(explained(408, {})));
  EXPECT_TRUE(is_worth_repeating(explained(400, {"RequestTimeout", "", "", ""})));
  EXPECT_TRUE(is_worth_repeating(explained(200, {"InternalError", "", "", ""})));
  EXPECT_TRUE(is_worth_repeating(explained(409, {"OperationAborted", "", "", ""})));
  EXPECT_TRUE(is_worth_repeating(explained(400, {"BadDigest", "", "", ""})));
  EXPECT_FALSE(is_worth_repeating(explained(501, {})));
  EXPECT_FALSE(is_worth_repeating(explained(507, {})));
  EXPECT_FALSE(is_worth_repeating(explained(403, {"AccessDenied", "", "", ""})));
  EXPECT_FALSE(is_worth_repeating(explained(404, {"NoSuchKey", "", "", ""})));
  for (const auto kind : {Failure::Kind::unreachable, Failure::Kind::timeout, Failure::Kind::cut})
    EXPECT_TRUE(is_worth_repeating({kind, ""}));
  for (const auto kind : {Failure::Kind::stopped, Failure::Kind::cancelled, Failure::Kind::tls, Failure::Kind::bad_url})
    EXPECT_FALSE(is_worth_repeating({kind, ""}));
}

TEST(Explain, AMissingObjectIsNotAMissingBucket) {
  EXPECT_TRUE(is_missing(explained(404, {"NoSuchKey", "", "", ""})));
  EXPECT_TRUE(is_missing(explained(404, {})));
  EXPECT_FALSE(is_missing(explained(404, {"NoSuchBucket", "", "", ""})));
  EXPECT_FALSE(is_missing(explained(403, {})));
  EXPECT_FALSE(is_missing({Failure::Kind::cut, ""}));
}

}  // namespace
}  // namespace restante::s3
