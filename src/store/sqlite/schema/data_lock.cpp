#include "store/sqlite/schema/data_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/text.h"

namespace restante::sqlite {
namespace {

std::string holder(int fd) {
  std::array<char, 32> text{};
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  const auto pid = size > 1 ? parse_unsigned({text.data(), static_cast<std::size_t>(size) - 1}) : std::nullopt;
  return pid ? fmt::format("process {}", *pid) : "another process";
}

}  // namespace

DataLock::DataLock(const std::filesystem::path& directory) {
  // The file is never removed: a process that has a removed file open would hold a lock that no other process sees.
  const auto file = directory / "lock";
  file_ = Fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file_) {
    throw OpenRefused(
        fmt::format("the data directory {} cannot be used: {}", directory.string(), std::strerror(errno)));
  }
  if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    const std::string who = holder(file_.get());
    throw OpenRefused(fmt::format("the data directory {} is in use by {}; stop it first, or use another directory",
                                  directory.string(), who));
  }
  const std::string pid = fmt::format("{}\n", getpid());
  // The pid is only for the sentence above, so a full disk is no reason to refuse.
  if (ftruncate(file_.get(), 0) != 0 || pwrite(file_.get(), pid.data(), pid.size(), 0) < 0) return;
}

}  // namespace restante::sqlite
