// BlobDirectory: the directory that holds the blobs, and whether it may still be used. All failed system calls on it
// are reported by fail(): a full disk throws StorageFull, anything else Unavailable. After an I/O error nothing is
// written until a restart: data that could not be synced once may be lost although a second sync succeeds. Thread-safe.
#pragma once
#include <array>
#include <atomic>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace restante::dir {

class BlobDirectory {
 public:
  explicit BlobDirectory(const std::filesystem::path& directory);

  int fd() const { return directory_.get(); }
  // Throws Unavailable after an I/O error.
  void require_healthy() const;
  // Throws Unavailable when the path names another directory now.
  void require_same_directory() const;
  // Throws for errno; `doing` is what was tried.
  [[noreturn]] void fail(std::string_view doing);
  void write_all(int fd, std::string_view bytes, std::int64_t at);
  void sync_data(int fd);
  // Makes the names in a subdirectory durable.
  void sync_names(const char* subdirectory);
  // Creates the subdirectory unless it exists; durable on return.
  void need_subdirectory(const std::string& name);
  // The names in a subdirectory; none when it does not exist yet.
  std::vector<std::string> names_in(const std::string& subdirectory);

 private:
  void make_directory(const char* name);

  const std::filesystem::path path_;
  Fd directory_;
  std::atomic<bool> failed_{false};
  std::array<std::atomic<bool>, 256> durable_{};
};

}  // namespace restante::dir
