// The operator's token: given from outside, or made at first start and stored in <data>/admin.token, readable by its
// owner only. Servers that share their data directory share it; AdminTokenFile shows them when another server has
// replaced it.
#pragma once
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/crypto.h"
#include "base/log.h"
#include "base/mutex.h"

namespace restante {

// `given` wins when it is not empty. The log names the file, never the token. Throws std::runtime_error with a sentence
// when the file cannot be used or is readable by others.
std::string admin_token(const std::string& given, const std::filesystem::path& data, Log& log);

// Replaces the token by a new one and returns it. Throws Unavailable; the old one is then still in the file.
std::string replace_admin_token(const std::filesystem::path& data, Log& log);

// Reads the file again when it has been replaced. Thread-safe.
class AdminTokenFile {
 public:
  explicit AdminTokenFile(const std::filesystem::path& data) : file_(data / "admin.token") {}

  // The digest of its content; nothing while it cannot be read.
  std::optional<Digest> current_digest();

 private:
  const std::filesystem::path file_;
  Mutex mutex_;
  struct stat seen_ RESTANTE_GUARDED_BY(mutex_) {};
  std::optional<Digest> now_ RESTANTE_GUARDED_BY(mutex_);
};

}  // namespace restante
