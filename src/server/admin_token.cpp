#include "server/admin_token.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "base/error.h"
#include "model/token.h"
#include "server/secret_file.h"

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

}  // namespace

std::string admin_token(const std::string& given, const std::filesystem::path& data, Log& log) {
  if (!given.empty()) return given;
  const std::filesystem::path file = data / "admin.token";
  if (std::filesystem::exists(file)) return read_token(file);
  std::string secret = make_token().secret;
  write_secret_file(file, secret + "\n");
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

}  // namespace restante
