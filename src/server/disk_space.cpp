#include "server/disk_space.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <limits>

namespace restante {
namespace {

constexpr auto kFresh = std::chrono::milliseconds(20);
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t ask(const std::filesystem::path& path) {
  struct statvfs disk{};
  if (::statvfs(path.c_str(), &disk) != 0) return kUnlimited;
  return static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
}

}  // namespace

std::uint64_t DiskSpace::free_bytes() {
  const auto now = std::chrono::steady_clock::now();
  if (now - asked_.load() < kFresh) return free_.load();
  std::uint64_t least = kUnlimited;
  for (const auto& path : paths_) least = std::min(least, ask(path));
  free_ = least;
  asked_ = now;
  return least;
}

}  // namespace restante
