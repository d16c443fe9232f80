#include "server/platform/file_times.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"

namespace restante {
namespace {

Time time_of(const timespec& at) {
  return Time(std::chrono::seconds(at.tv_sec) +
              std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::nanoseconds(at.tv_nsec)));
}

}  // namespace

std::optional<Time> newest_file_time(const std::filesystem::path& database) {
  std::optional<Time> newest;
  for (const char* suffix : {"", "-wal"}) {
    struct stat info{};
    if (::stat((database.string() + suffix).c_str(), &info) != 0) continue;
    newest = std::max(newest.value_or(Time()), time_of(info.st_mtim));
  }
  return newest;
}

std::optional<Time> file_system_time(const std::filesystem::path& data) {
  const Fd file(::open(data.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0) return std::nullopt;
  return time_of(info.st_mtim);
}

}  // namespace restante
