// Blobs: where bytes live. A blob is written once, then only read and dropped. put() gives a writer; nothing is visible
// under the key until finish(), and after finish() the bytes survive a power cut. Thread-safe; a BlobWriter belongs to
// one thread at a time. Throws Unavailable when the place of the bytes has failed (EIO), StorageFull when it is full.
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
  // Not finished: everything written so far is gone.
  virtual ~BlobWriter() = default;
  virtual void write(std::string_view bytes) = 0;
  // Makes it durable and visible, and gives its key.
  virtual std::string finish() = 0;
};

// An open blob. Of a file the descriptor stays readable although the blob is dropped meanwhile; elsewhere bytes are
// dropped only when nobody can be reading them any more. Belongs to one thread at a time.
class OpenBlob {
 public:
  virtual ~OpenBlob() = default;
  // What there is now, not what was written.
  virtual std::uint64_t size() = 0;
  // Blocks. How many were read: at least one, unless `at` is the end. Throws Unavailable.
  virtual std::size_t read(std::uint64_t at, std::span<char> into) = 0;
  // The next read asks the place itself, not a memory of it.
  virtual void forget() {}
  // What can be sent from without reading; -1 where there is none.
  virtual int fd() const { return -1; }
};

// Some of the blobs, and from where to go on; empty at the end.
struct BlobPage {
  std::vector<std::string> keys;
  std::string next;
};

class Blobs {
 public:
  virtual ~Blobs() = default;
  virtual void check() = 0;
  virtual std::unique_ptr<BlobWriter> put() = 0;
  // Null when there is no such blob.
  virtual std::shared_ptr<OpenBlob> open(std::string_view key) = 0;
  // Dropping what is not there is fine.
  virtual void drop(std::string_view key) = 0;
  // The same for many, where that is cheaper at once.
  virtual void drop_all(std::span<const std::string> keys) {
    for (const std::string& key : keys) drop(key);
  }
  // All blobs that were finished before `before`, in bounded steps: begin with an empty `from`, go on with `next`. One
  // that is put or dropped meanwhile may be in it or not.
  virtual BlobPage list(std::string_view from, Time before) = 0;
  // What a process that died had begun, if nothing was written to it since `before`. Gives how many.
  virtual std::size_t drop_unfinished(Time before) = 0;
  // The same, and it is left as it is.
  virtual std::size_t count_unfinished(Time before) = 0;

  // One small text beside the blobs and never among them, that says whose they are; none where nobody has put one.
  // Whole and durable once it is put. A place that lies in the database has none and throws Unavailable.
  enum class MarkMode { if_there_is_none, anyway };
  virtual std::optional<std::string> mark() { throw Unavailable("this place takes no mark"); }
  virtual void put_mark(const std::string&, MarkMode) { throw Unavailable("this place takes no mark"); }
};

// What the mark is called, in a directory and under the prefix of a bucket. No blob is called so.
inline constexpr const char* kMarkName = "restante-owner";

}  // namespace restante
