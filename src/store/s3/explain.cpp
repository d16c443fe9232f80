#include "store/s3/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/text.h"

namespace restante::s3 {
namespace {

using client::Failure;
using client::Response;

constexpr std::size_t kMaxShownBytes = 200;

std::string presentable(std::string_view text) {
  std::string shown(cut_utf8(text, kMaxShownBytes));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '\x7f') c = ' ';
  }
  return shown;
}

bool is_one_of(std::string_view code, std::initializer_list<std::string_view> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

std::string skew_sentence(const Response& response, const ErrorAnswer& error, Time now) {
  auto theirs = parse_time(error.server_time);
  if (const auto* date = response.find("Date"); !theirs && date) theirs = parse_http_date(*date);
  std::string sentence = "S3 refuses requests because this machine's clock is wrong";
  if (theirs) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - *theirs).count();
    sentence += fmt::format(": it is {} seconds {} S3's", std::abs(seconds), seconds < 0 ? "behind" : "ahead of");
  }
  return sentence + "; set it, or let NTP do it";
}

std::string region_sentence(const Response& response, const ErrorAnswer& error, const RequestFacts& asked) {
  std::string right = error.region;
  if (const auto* header = response.find("x-amz-bucket-region"); right.empty() && header) right = *header;
  const auto where = right.empty() ? std::string("another region") : "region " + presentable(right);
  return fmt::format("bucket {} is in {}, not in {}: set the region and the endpoint to where it is", asked.bucket,
                     where, asked.region);
}

// A page that S3 did not write. A proxy in front of S3 may write one while S3 is down or busy, which is not foreign.
bool is_foreign(const Response& response, const ErrorAnswer& error) {
  if (response.status >= 500 || response.status == 408 || response.status == 429) return false;
  return !response.body.empty() && error.code.empty() && error.message.empty() && !response.find("x-amz-bucket-region");
}

std::string sentence_of(const Response& response, const ErrorAnswer& error, const RequestFacts& asked) {
  const std::string_view code = error.code;
  if (is_foreign(response, error))
    return fmt::format("{} does not answer as S3 does: {} and a page that is not S3's", asked.endpoint,
                       response.status);
  if (code == "RequestTimeTooSkewed") return skew_sentence(response, error, asked.now);
  if (response.status / 100 == 3 || code == "AuthorizationHeaderMalformed" || code == "PermanentRedirect" ||
      code == "IllegalLocationConstraintException") {
    return region_sentence(response, error, asked);
  }
  if (code == "SignatureDoesNotMatch")
    return "S3 refuses the signature: the secret key is not the right one, or something on the way changed the request";
  if (code == "InvalidAccessKeyId") return "S3 does not know the access key";
  if (is_one_of(code, {"ExpiredToken", "TokenRefreshRequired"})) return "the S3 credentials have expired";
  if (code == "InvalidToken") return "S3 does not take the session token that comes with the access key";
  if (code == "NoSuchBucket") return fmt::format("there is no bucket {} at {}", asked.bucket, asked.endpoint);
  if (code == "AccessDenied" || (code.empty() && response.status == 403))
    return fmt::format("the access key may not {} in bucket {}", asked.method, asked.bucket);
  std::string sentence = fmt::format("S3 at {} answered {}", asked.endpoint, response.status);
  if (!code.empty()) sentence += " " + presentable(code);
  if (!error.message.empty()) sentence += ": " + presentable(error.message);
  return sentence;
}

}  // namespace

std::optional<Time> parse_http_date(const std::string& text) {
  std::tm parts{};
  const char* end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (!end || *end != '\0') return std::nullopt;
  return Time(std::chrono::seconds(timegm(&parts)));
}

Failure explain(const Response& response, const ErrorAnswer& error, const RequestFacts& asked) {
  const auto kind = is_foreign(response, error) ? Failure::Kind::protocol : Failure::Kind::status;
  Failure failure(kind, sentence_of(response, error, asked));
  failure.status = response.status;
  failure.code = error.code;
  if (const auto* retry = response.find("Retry-After")) {
    if (const auto seconds = parse_unsigned(*retry))
      failure.retry_after = std::chrono::seconds(std::min<std::uint64_t>(*seconds, 3600));
  }
  return failure;
}

Failure explain_certificate(Failure failure, const std::string& endpoint, const std::string& ca_file) {
  if (failure.kind != Failure::Kind::tls) return failure;
  const auto issued = fmt::format("the certificate of s3.endpoint {} was ", endpoint);
  switch (failure.doubt) {
    case Failure::Doubt::authority:
      failure.sentence += "; " + issued;
      failure.sentence += ca_file.empty()
                              ? "issued by none of the system's authorities: set s3.ca_file to the PEM file of its own"
                              : fmt::format("issued by none in s3.ca_file {}: put its own there", ca_file);
      break;
    case Failure::Doubt::name:
      failure.sentence += "; " + issued + "issued to another: set s3.endpoint to a name that is in it";
      break;
    case Failure::Doubt::none:
      failure.sentence += fmt::format("; s3.endpoint is {}", endpoint);
      if (!ca_file.empty()) failure.sentence += fmt::format(", s3.ca_file {}", ca_file);
      break;
  }
  return failure;
}

bool is_worth_repeating(const Failure& failure) {
  switch (failure.kind) {
    case Failure::Kind::unreachable:
    case Failure::Kind::timeout:
    case Failure::Kind::cut:
      return true;
    case Failure::Kind::protocol:
      return failure.status == 0;
    case Failure::Kind::status:
      break;
    default:
      return false;
  }
  if (failure.status == 501 || failure.status == 507) return false;
  // The first four codes may come with status 400 or 200; the last three mean that the data was changed on its way.
  return failure.status == 408 || failure.status == 429 || failure.status >= 500 ||
         is_one_of(failure.code, {"RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable",
                                  "OperationAborted", "IncompleteBody", "BadDigest", "XAmzContentSHA256Mismatch"});
}

bool is_missing(const Failure& failure) {
  return failure.kind == Failure::Kind::status && failure.status == 404 && failure.code != "NoSuchBucket";
}

bool may_be_of_keys(const Failure& failure) {
  if (failure.kind != Failure::Kind::status) return false;
  // The answer to HEAD has no code, only a status.
  return failure.status == 401 || failure.status == 403 ||
         is_one_of(failure.code, {"ExpiredToken", "TokenRefreshRequired", "InvalidToken"});
}

bool is_unsupported(const Failure& failure) {
  return failure.status == 400 || failure.status == 405 || failure.status == 411 || failure.status == 501;
}

}  // namespace restante::s3
