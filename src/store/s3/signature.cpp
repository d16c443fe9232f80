#include "store/s3/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/crypto.h"
#include "base/text.h"

namespace restante::s3 {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::span<const std::uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Without blanks at the ends, and several blanks replaced by one.
std::string folded(std::string_view value) {
  std::string out;
  for (const char c : trim(value)) {
    if (c != ' ' || !out.ends_with(' ')) out += c;
  }
  return out;
}

// By lower-case name; several values of one name are joined with commas in the order they are sent.
std::map<std::string, std::string> canonical_headers(const std::vector<client::Header>& headers) {
  std::map<std::string, std::string> canonical;
  for (const auto& header : headers) {
    const auto [at, first] = canonical.try_emplace(lower_case(header.name));
    if (!first) at->second += ',';
    at->second += folded(header.value);
  }
  return canonical;
}

std::string signed_names(const std::vector<client::Header>& headers) {
  std::string names;
  for (const auto& [name, value] : canonical_headers(headers)) names += (names.empty() ? "" : ";") + name;
  return names;
}

std::string scope_text(std::string_view day, const Scope& scope) {
  return fmt::format("{}/{}/{}/aws4_request", day, scope.region, scope.service);
}

}  // namespace

std::string encode_path(std::string_view path) {
  std::string encoded;
  for (std::size_t at = 0; at <= path.size();) {
    const auto end = std::min(path.find('/', at), path.size());
    encoded += percent_encode(path.substr(at, end - at));
    if (end < path.size()) encoded += '/';
    at = end + 1;
  }
  return encoded;
}

std::string encode_query(const Query& query) {
  Query encoded;
  for (const auto& [name, value] : query) encoded.emplace_back(percent_encode(name), percent_encode(value));
  std::sort(encoded.begin(), encoded.end());
  std::string text;
  for (const auto& [name, value] : encoded) {
    if (!text.empty()) text += '&';
    text += name + "=" + value;
  }
  return text;
}

std::string signing_time(Time time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(seconds - day);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

std::string canonical_request(const Signable& request) {
  std::string text = request.method + "\n" + request.path + "\n" + encode_query(request.query) + "\n";
  for (const auto& [name, value] : canonical_headers(request.headers)) text += name + ":" + value + "\n";
  return text + "\n" + signed_names(request.headers) + "\n" + request.payload_digest;
}

Digest signing_key(std::string_view secret, std::string_view day, const Scope& scope) {
  auto key = hmac_sha256(bytes_of("AWS4" + std::string(secret)), day);
  key = hmac_sha256(key, scope.region);
  key = hmac_sha256(key, scope.service);
  return hmac_sha256(key, "aws4_request");
}

std::string authorization(const Signable& request, const Credentials& who, const Scope& scope, Time now) {
  const auto time = signing_time(now);
  const auto day = std::string_view(time).substr(0, 8);
  const auto to_sign = fmt::format("{}\n{}\n{}\n{}", kAlgorithm, time, scope_text(day, scope),
                                   to_hex(sha256(canonical_request(request))));
  const auto signature = to_hex(hmac_sha256(signing_key(who.secret_key, day, scope), to_sign));
  return fmt::format("{} Credential={}/{}, SignedHeaders={}, Signature={}", kAlgorithm, who.access_key,
                     scope_text(day, scope), signed_names(request.headers), signature);
}

}  // namespace restante::s3
