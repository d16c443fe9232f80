#include "store/dir/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace restante::dir {

std::uint64_t OpenFile::size() {
  struct stat info{};
  if (::fstat(fd(), &info) != 0) throw Unavailable(std::strerror(errno));
  return static_cast<std::uint64_t>(info.st_size);
}

std::size_t OpenFile::read(std::uint64_t at, std::span<char> into) {
  for (;;) {
    const ssize_t got = ::pread(fd(), into.data(), into.size(), static_cast<off_t>(at));
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw Unavailable(std::strerror(errno));
  }
}

void OpenFile::forget() { ::posix_fadvise(fd(), 0, 0, POSIX_FADV_DONTNEED); }

}  // namespace restante::dir
