// Blobs: the blobs of one place. A blob is written once, then only read and dropped. put() returns a writer; nothing is
// visible under the key until finish(), and after finish() the blob survives a power cut. Thread-safe; a BlobWriter
// belongs to one thread at a time. Throws Unavailable when the place has failed (EIO), StorageFull when it is full.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace restante {

class BlobWriter {
 public:
  // Deletes everything written so far unless finish() has returned.
  virtual ~BlobWriter() = default;
  virtual void write(std::string_view bytes) = 0;
  // Makes the blob durable and visible, and returns its key.
  virtual std::string finish() = 0;
};

// An open blob. A file stays readable by its descriptor although the blob is dropped meanwhile. In other places a blob
// is dropped only when no reader can have it open any more. Belongs to one thread at a time.
class OpenBlob {
 public:
  virtual ~OpenBlob() = default;
  // The size that the place has now, not the one that was written.
  virtual std::uint64_t size() = 0;
  // Blocks. Returns the number of bytes read: at least one, unless `at` is the end. Throws Unavailable.
  virtual std::size_t read(std::uint64_t at, std::span<char> into) = 0;
  // Discards buffered content: the next read goes to the place itself.
  virtual void forget() {}
  // A descriptor for sendfile; -1 when there is none.
  virtual int fd() const { return -1; }
};

// Some of the keys, and where to continue; `next` is empty at the end.
struct BlobPage {
  std::vector<std::string> keys;
  std::string next;
};

class Blobs {
 public:
  virtual ~Blobs() = default;
  // Throws Unavailable unless the place works now, as far as a trial blob (dir, inline) or a list (s3) shows.
  virtual void check() = 0;
  virtual std::unique_ptr<BlobWriter> put() = 0;
  // Null when there is no such blob. What has its name and is no regular file is no blob.
  virtual std::shared_ptr<OpenBlob> open(std::string_view key) = 0;
  // Dropping a blob that does not exist is no error.
  virtual void drop(std::string_view key) = 0;
  // The same for many; some places do that faster in one call.
  virtual void drop_all(std::span<const std::string> keys) {
    for (const std::string& key : keys) drop(key);
  }
  // All blobs that were finished before `before`, in bounded steps: begin with an empty `from`, continue with `next`. A
  // blob that is put or dropped meanwhile may be listed or not.
  virtual BlobPage list(std::string_view from, Time before) = 0;
  // Deletes blobs that were begun and not finished, if nothing was written to them since `before`. Returns how many.
  virtual std::size_t drop_unfinished(Time before) = 0;
  // Counts the same blobs and deletes nothing.
  virtual std::size_t count_unfinished(Time before) = 0;

  // The mark: a small text beside the blobs that names the owner; never listed as a blob. None when no mark was put.
  // put_mark() returns when it is complete and durable. A place in the database has no mark and throws Unavailable.
  enum class MarkMode { if_there_is_none, anyway };
  virtual std::optional<std::string> mark() { throw Unavailable("this place cannot have a mark"); }
  virtual void put_mark(const std::string&, MarkMode) { throw Unavailable("this place cannot have a mark"); }
};

// The name of the mark, in a directory and under the prefix of a bucket. No blob has this name.
inline constexpr const char* kMarkName = "restante-owner";

}  // namespace restante
