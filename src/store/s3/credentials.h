// Credentials for signing requests. They come from the settings, else from the environment (AWS_ACCESS_KEY_ID and so
// on), else from a file in the format of the AWS tools (sections, `name = value`). The file is read again when S3
// refuses its keys, so that keys can be rotated while the server runs. Sentences name settings and files, never their
// values. CredentialSource is thread-safe; nothing here throws.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "client/failure.h"
#include "client/proxy.h"

namespace restante::s3 {

struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // of temporary credentials; else empty

  friend bool operator==(const Credentials&, const Credentials&) = default;
};

struct CredentialSettings {
  std::string access_key;  // empty, and secret_key too: use the environment or the file
  std::string secret_key;
  std::string session_token;
  std::string file;  // empty: AWS_SHARED_CREDENTIALS_FILE, else .aws/credentials in the home directory
  std::string profile = "default";
};

// The file that they would be read from; empty when the settings or the environment have them, or HOME is not set.
std::string file_of_credentials(const CredentialSettings& settings, const client::Environment& environment);

// The keys in a section of such a file; none when the section is absent or has no key pair.
std::optional<Credentials> read_credentials(std::string_view text, std::string_view profile);

class CredentialSource {
 public:
  explicit CredentialSource(CredentialSettings settings, client::Environment environment = client::from_environment);

  // A failure has Kind::stopped and a sentence that names what to set.
  client::Outcome<Credentials> current();
  // Grows whenever current() begins to return other keys than before.
  std::uint64_t generation() const;
  // Called when keys of generation `refused` were refused. True when there are other keys now; current() returns them.
  bool renew(std::uint64_t refused);

 private:
  client::Outcome<Credentials> find() const;
  client::Outcome<Credentials> find_in_file() const;

  const CredentialSettings settings_;
  const client::Environment environment_;
  mutable Mutex mutex_;
  std::optional<Credentials> known_ RESTANTE_GUARDED_BY(mutex_);
  std::uint64_t generation_ RESTANTE_GUARDED_BY(mutex_) = 0;
};

}  // namespace restante::s3
