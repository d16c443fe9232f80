#include "server/secrets/admin_token.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "base/error.h"
#include "model/token.h"
#include "server/secrets/secret_file.h"

namespace restante {
namespace {

std::string read_token(const std::filesystem::path& file) {
  std::string secret = read_secret_file(file, "or delete it for a new token");
  secret.resize(std::min(secret.find('\n'), secret.size()));
  if (!looks_like_token(secret)) {
    throw std::runtime_error(
        fmt::format("{} does not hold a token; delete it and a new one is made at the next start", file.string()));
  }
  return secret;
}

bool is_same(const struct stat& one, const struct stat& other) {
  return one.st_ino == other.st_ino && one.st_size == other.st_size && one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
         one.st_mtim.tv_nsec == other.st_mtim.tv_nsec && one.st_ctim.tv_sec == other.st_ctim.tv_sec &&
         one.st_ctim.tv_nsec == other.st_ctim.tv_nsec;
}

}  // namespace

std::string admin_token(const std::string& given, const std::filesystem::path& data, Log& log) {
  if (!given.empty()) return given;
  const std::filesystem::path file = data / "admin.token";
  if (std::filesystem::exists(file)) return read_token(file);
  std::string secret = make_token().secret;
  if (!create_secret_file(file, secret + "\n")) return read_token(file);
  log.info("admin_token_made", {{"file", file.string()}});
  return secret;
}

std::string replace_admin_token(const std::filesystem::path& data, Log& log) {
  const std::filesystem::path file = data / "admin.token";
  std::string secret = make_token().secret;
  try {
    write_secret_file(file, secret + "\n");
  } catch (const std::runtime_error& failed) {
    throw Unavailable(failed.what());
  }
  log.info("admin_token_rotated", {{"file", file.string()}});
  return secret;
}

std::optional<Digest> AdminTokenFile::current_digest() {
  struct stat found{};
  if (::stat(file_.c_str(), &found) != 0) return std::nullopt;
  const MutexLock lock(mutex_);
  if (now_ && is_same(found, seen_)) return now_;
  try {
    now_ = sha256(read_token(file_));
    seen_ = found;
  } catch (const std::runtime_error&) {
    now_.reset();
  }
  return now_;
}

}  // namespace restante
