#include "store/s3/credentials.h"

#include <fstream>
#include <iterator>

#include "base/text.h"

namespace restante::s3 {
namespace {

using client::Failure;
using client::Outcome;

Failure unusable(std::string sentence) { return {Failure::Kind::stopped, std::move(sentence)}; }

// The values are sent in a header: text that cannot be in a header cannot be a key.
bool is_plausible(std::string_view value) {
  for (const char c : value) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f') return false;
  }
  return !value.empty();
}

bool is_complete(const Credentials& found) {
  return is_plausible(found.access_key) && is_plausible(found.secret_key) &&
         (found.session_token.empty() || is_plausible(found.session_token));
}

void take(Credentials& found, std::string_view name, std::string_view value) {
  if (name == "aws_access_key_id") found.access_key = value;
  if (name == "aws_secret_access_key") found.secret_key = value;
  if (name == "aws_session_token") found.session_token = value;
}

}  // namespace

std::optional<Credentials> read_credentials(std::string_view text, std::string_view profile) {
  Credentials found;
  bool in_profile = false;
  for (auto line : split(text, '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trim(line);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      in_profile = line.back() == ']' && trim(line.substr(1, line.size() - 2)) == profile;
      continue;
    }
    const auto equals = line.find('=');
    if (!in_profile || equals == std::string_view::npos) continue;
    take(found, lower_case(trim(line.substr(0, equals))), trim(line.substr(equals + 1)));
  }
  return is_complete(found) ? std::optional(found) : std::nullopt;
}

std::string file_of_credentials(const CredentialSettings& settings, const client::Environment& environment) {
  const auto value = [&](const char* name) { return environment(name).value_or(""); };
  if (!settings.access_key.empty() || !settings.secret_key.empty()) return {};
  if (!value("AWS_ACCESS_KEY_ID").empty() || !value("AWS_SECRET_ACCESS_KEY").empty()) return {};
  if (!settings.file.empty()) return settings.file;
  const std::string shared = value("AWS_SHARED_CREDENTIALS_FILE");
  if (!shared.empty()) return shared;
  const std::string home = value("HOME");
  return home.empty() ? std::string() : home + "/.aws/credentials";
}

CredentialSource::CredentialSource(CredentialSettings settings, client::Environment environment)
    : settings_(std::move(settings)), environment_(std::move(environment)) {}

Outcome<Credentials> CredentialSource::current() {
  const MutexLock lock(mutex_);
  if (!known_) {
    auto found = find();
    if (found.has_error()) return found;
    known_ = std::move(*found);
  }
  return *known_;
}

std::uint64_t CredentialSource::generation() const {
  const MutexLock lock(mutex_);
  return generation_;
}

bool CredentialSource::renew(std::uint64_t refused) {
  const MutexLock lock(mutex_);
  if (generation_ != refused) return true;
  // A file that cannot be read now may just be written by another program.
  auto found = find();
  if (found.has_error() || known_ == *found) return false;
  known_ = std::move(*found);
  ++generation_;
  return true;
}

Outcome<Credentials> CredentialSource::find() const {
  if (!settings_.access_key.empty() || !settings_.secret_key.empty()) {
    Credentials given{settings_.access_key, settings_.secret_key, settings_.session_token};
    if (!is_complete(given)) return unusable("the S3 credentials in the settings need both a key and a secret");
    return given;
  }
  const auto value = [&](const char* name) { return environment_(name).value_or(""); };
  Credentials in_environment{value("AWS_ACCESS_KEY_ID"), value("AWS_SECRET_ACCESS_KEY"), value("AWS_SESSION_TOKEN")};
  if (!in_environment.access_key.empty() || !in_environment.secret_key.empty()) {
    if (!is_complete(in_environment)) return unusable("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must both be set");
    return in_environment;
  }
  return find_in_file();
}

Outcome<Credentials> CredentialSource::find_in_file() const {
  const std::string none = "no S3 credentials in the settings (s3.access_key) or the environment (AWS_ACCESS_KEY_ID)";
  const std::string path = file_of_credentials(settings_, environment_);
  if (path.empty()) return unusable(none + ", and no file is named (s3.credentials_file)");
  std::ifstream file(path, std::ios::binary);
  if (!file) return unusable(none + ", and " + path + " cannot be read");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto found = read_credentials(text, settings_.profile);
  if (!found) return unusable(path + " has no key and secret in its section [" + settings_.profile + "] (s3.profile)");
  return *found;
}

}  // namespace restante::s3
