// BlobDirectory: the directory that holds the blobs, its mark, and whether it may still be used. All failed system
// calls on it are reported by fail(): a full disk throws StorageFull, anything else Unavailable. After an I/O error
// nothing is written until a restart: data that could not be synced once may be lost although a second sync succeeds.
// Thread-safe.
#pragma once
#include <array>
#include <atomic>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "store/blobs.h"

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
  // The names in a subdirectory, except for those of directories; none when it does not exist yet.
  std::vector<std::string> names_in(const std::string& subdirectory);

 private:
  void make_directory(const char* name);

  const std::filesystem::path path_;
  Fd directory_;
  std::atomic<bool> failed_{false};
  std::array<std::atomic<bool>, 256> durable_{};
};

// The mark: a file beside the subdirectories. A reader never sees it half written; when two writers put a mark at once,
// one of the two marks stays. Throws Unavailable, also when the path names another directory now.
std::optional<std::string> read_mark(BlobDirectory& directory);
void write_mark(BlobDirectory& directory, const std::string& text, Blobs::MarkMode how, const Clock& clock);

}  // namespace restante::dir
