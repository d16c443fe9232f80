// Credentials: who signs. Taken from the settings, else from the environment (AWS_ACCESS_KEY_ID and its companions),
// else from a file in the shape that the aws tools write (sections, `name = value`). A file is read anew when S3 does
// not take what it gave, so that keys may be rotated under a running server. Sentences name places, never values.
// CredentialSource is thread-safe; nothing here throws.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "client/failure.h"
#include "client/proxy.h"

namespace restante::s3 {

struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // of temporary credentials, else empty

  friend bool operator==(const Credentials&, const Credentials&) = default;
};

struct CredentialSettings {
  std::string access_key;  // empty, together with secret_key: look elsewhere
  std::string secret_key;
  std::string session_token;
  std::string file;  // empty: AWS_SHARED_CREDENTIALS_FILE, else .aws/credentials in the home directory
  std::string profile = "default";
};

// The file that they would be read from; empty where the settings or the environment have them, or nobody has a home.
std::string file_of_credentials(const CredentialSettings& settings, const client::Environment& environment);

// A section of such a file; nothing when it is absent or has no key pair.
std::optional<Credentials> read_credentials(std::string_view text, std::string_view profile);

class CredentialSource {
 public:
  explicit CredentialSource(CredentialSettings settings, client::Environment environment = client::from_environment);

  // Kind::bad_url is never it: a failure here is Kind::stopped with a sentence that says what to set.
  client::Outcome<Credentials> current();
  // Grows whenever current() begins to give other keys than before.
  std::uint64_t generation() const;
  // Keys of that generation were refused: whether there are others by now, which current() gives from here on.
  bool renew(std::uint64_t refused);

 private:
  client::Outcome<Credentials> find() const;
  client::Outcome<Credentials> find_in_file() const;

  const CredentialSettings settings_;
  const client::Environment environment_;
  mutable std::mutex mutex_;
  std::optional<Credentials> known_;
  std::uint64_t generation_ = 0;
};

}  // namespace restante::s3
