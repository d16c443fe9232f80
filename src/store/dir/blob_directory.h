// Place: the directory that holds the blobs, and whether it may still be trusted. Every failing call on it ends here,
// so that a full disk is StorageFull, anything else Unavailable, and an I/O error the end of writing until a restart:
// what could not be synced once may be lost although a second try succeeds. Thread-safe.
#pragma once
#include <array>
#include <atomic>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace restante::dir {

// A descriptor that closes itself.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd();
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

class BlobDirectory {
 public:
  explicit BlobDirectory(const std::filesystem::path& directory);

  int fd() const { return directory_.get(); }
  // Throws Unavailable after an I/O error, or when another directory lies under the path now.
  void require_healthy() const;
  void require_same_directory() const;
  // `doing` says what was tried; errno says what came of it.
  [[noreturn]] void fail(std::string_view doing);
  void write_all(int fd, std::string_view bytes, std::int64_t at);
  void sync_data(int fd);
  // Makes the names in a subdirectory durable.
  void sync_names(const char* subdirectory);
  // Subdirectories are made when they are first needed; afterwards this one is there and durable.
  void need_subdirectory(const std::string& name);
  // What lies in a subdirectory; nothing when it was not made yet.
  std::vector<std::string> names_in(const std::string& subdirectory);

 private:
  void make_directory(const char* name);

  const std::filesystem::path path_;
  Fd directory_;
  std::atomic<bool> failed_{false};
  std::array<std::atomic<bool>, 256> durable_{};
};

}  // namespace restante::dir
