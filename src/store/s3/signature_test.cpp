#include "store/s3/signature.h"

#include <gtest/gtest.h>

#include "base/test_rows.h"
#include "base/text.h"

namespace restante::s3 {
namespace {

// Published by AWS: "Authenticating Requests: Using the Authorization Header", the examples of a single chunk.
const Credentials kExample{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
const Scope kExampleScope{"us-east-1", "s3"};
constexpr std::string_view kEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

Time at(const char* text) { return parse_time(text).value(); }

Signable example(std::string method, std::string path, std::string_view payload = kEmpty) {
  Signable request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.payload_digest = payload;
  request.headers = {{"Host", "examplebucket.s3.amazonaws.com"},
                     {"x-amz-content-sha256", std::string(payload)},
                     {"x-amz-date", "20130524T000000Z"}};
  return request;
}

struct Expected {
  std::string canonical_digest;
  std::string names;
  std::string signature;
};

void expect_example(const Signable& request, const Expected& expected) {
  EXPECT_EQ(to_hex(sha256(canonical_request(request))), expected.canonical_digest) << canonical_request(request);
  EXPECT_EQ(authorization(request, kExample, kExampleScope, at("2013-05-24T00:00:00Z")),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=" +
                expected.names + ", Signature=" + expected.signature);
}

TEST(Signature, OfTheExampleGetObject) {
  auto request = example("GET", "/test.txt");
  request.headers.push_back({"Range", "bytes=0-9"});
  expect_example(request, {"7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972",
                           "host;range;x-amz-content-sha256;x-amz-date",
                           "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"});
}

TEST(Signature, OfTheExamplePutObject) {
  const auto digest = to_hex(sha256("Welcome to Amazon S3."));
  auto request = example("PUT", encode_path("/test$file.text"), digest);
  request.headers.push_back({"Date", "Fri, 24 May 2013 00:00:00 GMT"});
  request.headers.push_back({"x-amz-storage-class", "REDUCED_REDUNDANCY"});
  expect_example(request, {"9e0e90d9c76de8fa5b200d8c849cd5b8dc7a3be3951ddb7f6a76b4158342019d",
                           "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                           "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"});
}

TEST(Signature, OfTheExampleSubresourceWithoutAValue) {
  auto request = example("GET", "/");
  request.query = {{"lifecycle", ""}};
  expect_example(request, {"9766c798316ff2757b517bc739a67f6213b4ab36dd5da2f94eaebf79c77395ca",
                           "host;x-amz-content-sha256;x-amz-date",
                           "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"});
}

TEST(Signature, OfTheExampleListWhoseQueryComesUnsorted) {
  auto request = example("GET", "/");
  request.query = {{"prefix", "J"}, {"max-keys", "2"}};
  expect_example(request, {"df57d21db20da04d7fa30298dd4488ba3a2b47ca3a489c74750e0f1e7df1b9b7",
                           "host;x-amz-content-sha256;x-amz-date",
                           "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"});
}

// Published by AWS as a suite of requests for any service, all with the same time and the same keys.
struct SuiteCase {
  const char* name;
  const char* method;
  const char* path;
  Query query;
  std::vector<client::Header> headers;
  const char* signature;
};

class SignatureSuite : public ::testing::TestWithParam<SuiteCase> {};

TEST_P(SignatureSuite, Agrees) {
  const auto& given = GetParam();
  Signable request;
  request.method = given.method;
  request.path = encode_path(given.path);
  request.query = given.query;
  request.payload_digest = kEmpty;
  request.headers = {{"Host", "example.amazonaws.com"}, {"X-Amz-Date", "20150830T123600Z"}};
  for (const auto& header : given.headers) request.headers.push_back(header);
  const Credentials who{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};
  const auto text = authorization(request, who, {"us-east-1", "service"}, at("2015-08-30T12:36:00Z"));
  EXPECT_TRUE(text.ends_with(std::string("Signature=") + given.signature)) << text << "\n"
                                                                           << canonical_request(request);
}

INSTANTIATE_TEST_SUITE_P(
    Published, SignatureSuite,
    ::testing::Values(
        SuiteCase{
            "get_vanilla", "GET", "/", {}, {}, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
        SuiteCase{
            "post_vanilla", "POST", "/", {}, {}, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
        SuiteCase{"query_order_key_case",
                  "GET",
                  "/",
                  {{"Param2", "value2"}, {"Param1", "value1"}},
                  {},
                  "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
        SuiteCase{"utf8_query",
                  "GET",
                  "/",
                  {{"\xe1\x88\xb4", "bar"}},
                  {},
                  "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
        SuiteCase{"utf8_path",
                  "GET",
                  "/\xe1\x88\xb4",
                  {},
                  {},
                  "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
        SuiteCase{"header_value_trim",
                  "GET",
                  "/",
                  {},
                  {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}},
                  "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
        SuiteCase{"header_key_duplicate",
                  "GET",
                  "/",
                  {},
                  {{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}},
                  "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
        SuiteCase{
            "header_value_order",
            "GET",
            "/",
            {},
            {{"My-Header1", "value4"}, {"My-Header1", "value1"}, {"My-Header1", "value3"}, {"My-Header1", "value2"}},
            "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
        SuiteCase{"header_key_sort",
                  "POST",
                  "/",
                  {},
                  {{"My-Header1", "value1"}},
                  "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"}),
    [](const auto& test) { return std::string(test.param.name); });

// Published by AWS: "Deriving the signing key".
TEST(Signature, TheKeyOfADayIsDerivedStepByStep) {
  EXPECT_EQ(to_hex(signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20150830", {"us-east-1", "iam"})),
            "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9");
}

TEST(Signature, APathIsEncodedOnceAndNeverNormalised) {
  expect_rows(encode_path, {{"/a+b=c@d'e(f)g:h,i", "/a%2Bb%3Dc%40d%27e%28f%29g%3Ah%2Ci"},
                            {"/a b%2f*~", "/a%20b%252f%2A~"},
                            {"/a//./../b/", "/a//./../b/"},
                            {"/\xe1\x88\xb4", "/%E1%88%B4"},
                            {"", ""}});
}

TEST(Signature, AQueryIsSortedByItsEncodedBytesAndThenByValue) {
  EXPECT_EQ(encode_query({{"b", "2"}, {"a", "z"}, {"a", "+ /"}, {"B", ""}}), "B=&a=%2B%20%2F&a=z&b=2");
  // '-' sorts before letters and '%' before '-': encoded, é comes first.
  EXPECT_EQ(encode_query({{"a-b", "1"}, {"ab", "2"}, {"a\xc3\xa9", "3"}}), "a%C3%A9=3&a-b=1&ab=2");
  EXPECT_EQ(encode_query({}), "");
}

TEST(Signature, TheTimeIsUtcToTheSecondAlsoAroundAYearsEnd) {
  EXPECT_EQ(signing_time(at("2026-12-31T23:59:59.999999Z")), "20261231T235959Z");
  EXPECT_EQ(signing_time(at("2027-01-01T01:00:00+02:00")), "20261231T230000Z");
  EXPECT_EQ(signing_time(at("2028-02-29T00:00:00Z")), "20280229T000000Z");
}

}  // namespace
}  // namespace restante::s3
