#include "server/places/disk_space.h"

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

std::uint64_t DiskSpace::free_after(std::uint64_t bytes) {
  const auto now = std::chrono::steady_clock::now();
  if (now - read_at_.load() >= kFresh) {
    std::uint64_t least = kUnlimited;
    for (const auto& path : paths_) least = std::min(least, ask(path));
    free_ = least;
    announced_ = 0;
    read_at_ = now;
  }
  const std::uint64_t announced = announced_.fetch_add(bytes) + bytes;
  const std::uint64_t free = free_.load();
  return free == kUnlimited ? free : free - std::min(free, announced);
}

}  // namespace restante
