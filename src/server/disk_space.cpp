#include "server/disk_space.h"

#include <sys/statvfs.h>

#include <limits>

namespace restante {

std::uint64_t free_bytes(const std::filesystem::path& path) {
  struct statvfs disk{};
  if (::statvfs(path.c_str(), &disk) != 0) return std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
}

}  // namespace restante
