#include "server/config/s3.h"

#include <sys/stat.h>

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "client/trust.h"
#include "client/url.h"
#include "server/config/check.h"
#include "server/config/values.h"

namespace restante {
namespace {

bool is_plain(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool consists_of(const std::string& text, std::string_view others) {
  return std::ranges::all_of(text, [&](char c) { return is_plain(c) || others.find(c) != std::string_view::npos; });
}

void check_keys(const Config& config) {
  const auto& s3 = config.s3;
  if (s3.access_key.empty() != s3.secret_key.empty()) {
    const bool has_name = s3.secret_key.empty();
    throw ConfigError(fmt::format("{} is set without {}: set both, or neither and use the AWS_… variables or a file",
                                  from(config, has_name ? "s3.access_key" : "s3.secret_key"),
                                  has_name ? "s3.secret_key" : "s3.access_key"));
  }
  if (!s3.session_token.empty() && s3.access_key.empty()) {
    throw ConfigError(fmt::format("{} is set without the key that it belongs to: set s3.access_key and s3.secret_key",
                                  from(config, "s3.session_token")));
  }
  if (!s3.credentials_file.empty()) check_file(config, "s3.credentials_file", s3.credentials_file, Privacy::secret);
}

void check_authorities(const Config& config) {
  const auto& file = config.s3.ca_file;
  check_pem(config, "s3.ca_file", file, Privacy::open);
  if (const auto read = client::check_authorities(file); read.has_error()) {
    throw ConfigError(fmt::format("{} names {}, which is no file of certificates: {}", from(config, "s3.ca_file"),
                                  in_quotes(file), read.error().sentence));
  }
}

bool is_readable_by_all_users(const std::string& file) {
  struct stat status{};
  return ::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & S_IROTH) != 0;
}

// A sentence with the places where keys were searched; empty when there are keys.
std::string missing_keys(const Config& config, const client::Environment& environment) {
  const auto found = s3::CredentialSource(s3_credentials(config), environment).current();
  return found.has_error() ? found.error().sentence : std::string();
}

}  // namespace

std::string parse_s3_word(const std::string& text) {
  if (std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7f; })) return text;
  throw BadValue("must be printable ASCII without spaces");
}

std::string parse_s3_endpoint(const std::string& text) {
  if (text.empty()) return text;
  const auto url = client::parse_url(text);
  if (url.has_value()) return url->text();
  throw BadValue(
      "must be http:// or https://, a host and perhaps a port, such as \"https://s3.eu-central-1.amazonaws.com\"");
}

// What S3 allows now, and what older servers have.
std::string parse_bucket(const std::string& text) {
  if (text.empty()) return text;
  if (text.size() >= 3 && text.size() <= 63 && consists_of(text, "._-") && is_plain(text.front())) return text;
  throw BadValue(
      fmt::format("must be the name of a bucket, 3 to 63 letters, digits, dots and dashes, not {}", in_quotes(text)));
}

// Nothing that a proxy on the way could normalise as a path.
std::string parse_s3_prefix(const std::string& text) {
  const std::string path = "/" + text;
  const bool is_tidy = path.find("//") == std::string::npos && path.find("/.") == std::string::npos;
  if (text.size() <= 500 && is_tidy && consists_of(text, "/._-=!'()")) return text;
  throw BadValue("must be up to 500 letters, digits and /._-=!'() without a leading slash, such as \"restante/\"");
}

void check_s3(const Config& config) {
  const auto& s3 = config.s3;
  if (config.blobs == "s3" && s3.bucket.empty()) {
    throw ConfigError(fmt::format("{} is s3, but no bucket is named: set s3.bucket, and s3.endpoint to where it is",
                                  from(config, "blobs")));
  }
  if (!s3.bucket.empty() && s3.endpoint.empty()) {
    throw ConfigError(
        fmt::format("{} is set without s3.endpoint: set it to where the bucket is, such as "
                    "https://s3.eu-central-1.amazonaws.com",
                    from(config, "s3.bucket")));
  }
  if (s3.region.empty())
    throw ConfigError(fmt::format("{} is empty: leave it out or name one", from(config, "s3.region")));
  if (!s3.ca_file.empty()) check_authorities(config);
  check_keys(config);
}

s3::CredentialSettings s3_credentials(const Config& config) {
  const auto& s3 = config.s3;
  return {s3.access_key, s3.secret_key, s3.session_token, s3.credentials_file, s3.profile};
}

void require_s3_keys(const Config& config, const client::Environment& environment) {
  if (!has_bucket(config)) return;
  const std::string file = s3::file_of_credentials(s3_credentials(config), environment);
  if (!file.empty() && is_readable_by_all_users(file)) {
    throw ConfigError(
        fmt::format("the keys of bucket {} are in {}, which all users of this machine can read: chmod "
                    "o-rwx it, and replace them if others have accounts here",
                    config.s3.bucket, in_quotes(file)));
  }
  const std::string missing = missing_keys(config, environment);
  if (config.blobs == "s3" && !missing.empty()) {
    throw ConfigError(fmt::format("{} is s3, but bucket {} cannot be asked without keys: {}", from(config, "blobs"),
                                  config.s3.bucket, missing));
  }
}

void add_s3_warnings(const Config& config, std::vector<std::string>& found) {
  const auto& s3 = config.s3;
  if (!has_bucket(config)) return;
  const std::string missing = missing_keys(config, client::from_environment);
  if (!missing.empty()) {
    found.push_back(fmt::format("bucket {} is set up, but cannot be asked without keys: {}", s3.bucket, missing));
  }
  const auto url = client::parse_url(s3.endpoint);
  if (url.has_error()) return;
  if (!url->tls && !is_loopback(url->host)) {
    found.push_back(fmt::format(
        "s3.endpoint {} is plain http: everyone on the network path can read the files; use https", s3.endpoint));
  }
  if (url->tls && s3.addressing == Config::Addressing::virtual_host && s3.bucket.find('.') != std::string::npos) {
    found.push_back(fmt::format(
        "bucket {} has a dot in its name, and certificates of *.HOST do not hold for it: use s3.addressing = path",
        s3.bucket));
  }
}

}  // namespace restante
