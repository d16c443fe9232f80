// DiskSpace: how much room the disks have that the server writes to, as their file systems tell. Of a path that cannot
// be asked about as much as there can be: the write itself will tell. Thread-safe, and cheap enough for every upload:
// the file systems' answer may be a few milliseconds old, less what was announced to be written since.
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
  // Bytes that may still be written where the fullest of the paths lies, once these have been, which the caller is
  // about to write.
  std::uint64_t free_after(std::uint64_t bytes);

 private:
  const std::vector<std::filesystem::path> paths_;
  std::atomic<std::chrono::steady_clock::time_point> asked_{};
  std::atomic<std::uint64_t> free_{0};
  std::atomic<std::uint64_t> announced_{0};  // since free_ was asked for
};

}  // namespace restante
