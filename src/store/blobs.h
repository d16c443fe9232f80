// Blobs: where bytes live. A blob is written once, then only read and dropped. put() gives a writer; nothing is visible
// under the key until finish(), and after finish() the bytes survive a power cut. Thread-safe; a BlobWriter belongs to
// one thread at a time. Throws Unavailable when the place of the bytes has failed (EIO), StorageFull when it is full.
#pragma once
#include <memory>
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

// An open blob: its descriptor stays readable although the blob is dropped meanwhile.
class OpenBlob {
 public:
  explicit OpenBlob(int fd) : fd_(fd) {}
  ~OpenBlob();
  OpenBlob(const OpenBlob&) = delete;
  OpenBlob& operator=(const OpenBlob&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
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
  // All blobs that were finished before `before`, in bounded steps: begin with an empty `from`, go on with `next`. One
  // that is put or dropped meanwhile may be in it or not.
  virtual BlobPage list(std::string_view from, Time before) = 0;
  // What a process that died had begun, if nothing was written to it since `before`. Gives how many.
  virtual std::size_t drop_unfinished(Time before) = 0;
};

}  // namespace restante
