// Landing: how a file comes to lie in the workspace: `<dir>/.molecule/chat-uploads/<32 hex of its id>-<name>`. Bytes
// are collected under a temporary name that survives a cut or a kill and is resumed; a final name is only ever that of
// a whole, verified file, 0600, durable. Nothing is replaced, nothing goes through a symbolic link. Belongs to one
// thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "agent/files.h"
#include "base/crypto.h"
#include "model/ids.h"

namespace restante::agent {

// What was announced; the bytes must match it.
struct AnnouncedFile {
  FileId id;
  std::string name;  // as announced; made safe here whatever the server did
  std::uint64_t size = 0;
  std::string sha256;  // 64 hex digits, or empty when the server does not say

  // 32 hex digits, a dash, the safe name.
  std::string landed_name() const;
};

// A file on its way: what is on disk so far, and its hash.
class Partial {
 public:
  std::uint64_t size() const { return size_; }
  DiskResult<void> append(std::string_view bytes);
  // Forgets everything so far.
  DiskResult<void> restart();

 private:
  friend class LandingFolder;
  Descriptor folder_;
  Descriptor file_;
  std::string temporary_;
  std::uint64_t size_ = 0;
  Sha256 hash_;
};

class LandingFolder {
 public:
  // `dir` is made when missing.
  explicit LandingFolder(std::string dir) : dir_(std::move(dir)) {}

  // The absolute path of the parcel if it lies there whole and right, as announced.
  DiskResult<std::optional<std::string>> find(const AnnouncedFile& announced) const;

  // Continues where an earlier attempt ended; size() says where that is, never past the parcel's size.
  DiskResult<Partial> begin(const AnnouncedFile& announced) const;

  // What was begun is not needed any more.
  void discard(const AnnouncedFile& announced) const;

  // Verifies and lands. No value when size or hash are not what was announced: the bytes are thrown away. If another
  // file has the name, the new one lands beside it as `<32 hex>-<n>-<name>`.
  DiskResult<std::optional<std::string>> finish(Partial partial, const AnnouncedFile& announced) const;

 private:
  DiskResult<Descriptor> open() const;
  // Whether the name is that of a regular file with the parcel's very bytes.
  static bool holds(int folder, const std::string& name, const AnnouncedFile& announced);
  std::string path_of(const std::string& name) const;

  std::string dir_;
};

}  // namespace restante::agent
