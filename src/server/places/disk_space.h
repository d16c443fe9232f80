// DiskSpace: the free space of the disks that the server writes to, as reported by their file systems. A path that
// cannot be asked about counts as unlimited: the write itself will fail. Thread-safe, and cheap enough for every
// upload: the figure may be a few milliseconds old, minus what was announced since.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace restante {

class DiskSpace {
 public:
  explicit DiskSpace(std::vector<std::filesystem::path> paths) : paths_(std::move(paths)) {}
  // Bytes that can still be written on the fullest disk after the caller has written `bytes`.
  std::uint64_t free_after(std::uint64_t bytes);

 private:
  const std::vector<std::filesystem::path> paths_;
  std::atomic<std::chrono::steady_clock::time_point> read_at_{};
  std::atomic<std::uint64_t> free_{0};
  std::atomic<std::uint64_t> announced_{0};  // since free_ was read
};

}  // namespace restante
