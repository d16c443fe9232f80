#include "server/admin_token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

#include "model/token.h"

namespace restante {
namespace {

std::runtime_error failure(const std::filesystem::path& file, std::string_view what) {
  return std::runtime_error(fmt::format("cannot {} {}: {}", what, file.string(), std::strerror(errno)));
}

// Complete and synced under its name, or not there at all: a crash must not leave half a token.
void write_secret(const std::filesystem::path& file, const std::string& secret) {
  const std::filesystem::path draft = file.string() + ".new";
  const int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) throw failure(draft, "create");
  const std::string line = secret + "\n";
  const bool written = ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size()) && ::fsync(fd) == 0;
  ::close(fd);
  if (!written || ::rename(draft.c_str(), file.c_str()) != 0) throw failure(file, "write");
  const int folder = ::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
}

std::string read_secret(const std::filesystem::path& file) {
  struct stat info{};
  if (::stat(file.c_str(), &info) != 0) throw failure(file, "read");
  if ((info.st_mode & 077) != 0) {
    throw std::runtime_error(
        fmt::format("{} is readable by others; run chmod 600 on it, or delete it for a new token", file.string()));
  }
  std::ifstream in(file);
  std::string secret;
  std::getline(in, secret);
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
  if (std::filesystem::exists(file)) return read_secret(file);
  std::string secret = make_token().secret;
  write_secret(file, secret);
  log.info("admin_token_made", {{"file", file.string()}});
  return secret;
}

}  // namespace restante
