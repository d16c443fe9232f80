// LandingFolder: stores downloaded files in the workspace as `<dir>/.molecule/chat-uploads/<32 hex of its id>-<name>`.
// The content is collected under a temporary name; after a broken connection or a kill the download resumes there. A
// file gets its final name only when it is complete, verified and durable; 0600. Nothing is replaced, and no symbolic
// link is followed. One thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "agent/files.h"
#include "base/crypto.h"
#include "model/ids.h"

namespace restante::agent {

// A file as the server announced it; the content must match.
struct AnnouncedFile {
  FileId id;
  std::string name;  // as announced; sanitised here in any case
  std::uint64_t size = 0;
  std::string sha256;  // 64 hex digits; empty: not announced

  // 32 hex digits, a dash, the safe name.
  std::string landed_name() const;
};

// An unfinished download: the content on disk so far, and its hash.
class Partial {
 public:
  std::uint64_t size() const { return size_; }
  DiskResult<void> append(std::string_view bytes);
  // Discards the content so far.
  DiskResult<void> restart();

 private:
  friend class LandingFolder;
  Fd folder_;
  Fd file_;
  std::string temporary_;
  std::uint64_t size_ = 0;
  Sha256 hash_;
};

class LandingFolder {
 public:
  // `dir` is created when missing.
  explicit LandingFolder(std::string dir) : dir_(std::move(dir)) {}

  // Absolute.
  std::string path() const;
  // An error when files cannot be stored there now.
  DiskResult<void> check() const;

  // The absolute path of the file if it is there, complete and with the announced content. Then it is durable: the
  // process that gave it its name may have been killed before it was.
  DiskResult<std::optional<std::string>> find(const AnnouncedFile& announced) const;

  // Continues where an earlier attempt ended; size() returns that offset, never more than the announced size.
  DiskResult<Partial> begin(const AnnouncedFile& announced) const;

  // Deletes the unfinished download.
  void discard(const AnnouncedFile& announced) const;

  // Verifies the file and gives it its final name; both are durable then. No value when size or hash differ from the
  // announced ones: the content is deleted. If another file has the name, the new one gets `<32 hex>-<n>-<name>`.
  DiskResult<std::optional<std::string>> finish(Partial partial, const AnnouncedFile& announced) const;

 private:
  DiskResult<Fd> open() const;
  // True when `name` is a regular file with exactly the announced content.
  static bool holds(int folder, const std::string& name, const AnnouncedFile& announced);
  // Makes a file that was found durable.
  static DiskResult<void> sync_found(int folder, const std::string& name, const AnnouncedFile& announced);
  // Makes the name of a landed file durable, whose content is.
  static DiskResult<void> sync_name(int folder, const std::string& name, const AnnouncedFile& announced);
  std::string path_of(const std::string& name) const;

  std::string dir_;
};

}  // namespace restante::agent
