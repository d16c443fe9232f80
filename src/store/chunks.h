// Chunks: blobs in the database itself, as rows of at most 1 MiB. This header is the contract; store/inline implements
// Blobs with it.
//
// One chunk is one write, and nothing is held between two writes: no transaction, no session, no writer. A blob cannot
// be read before it is finished. Its chunks are durable when the blob is finished, not before: a write that finds that
// an earlier chunk was lost fails with Unavailable. Thread-safe; one write at a time for each blob. Reads block and
// throw Unavailable. Writes fail with Unavailable or StorageFull, through their Commit or at once.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/commit.h"
#include "base/error.h"

namespace restante {

// All of a blob's chunks but the last have this size.
inline constexpr std::size_t kChunkBytes = std::size_t{1} << 20;

// One chunk to write.
struct NewChunk {
  std::string key;          // of its blob
  std::int64_t number = 0;  // its index in the blob
  std::string bytes;        // 1 to kChunkBytes
};

struct ChunkDrop {
  std::int64_t blobs = 0;  // completely deleted ones
  bool more = false;       // chunks are left: call again
};

class Chunks {
 public:
  virtual ~Chunks() = default;

  // The first chunk creates its blob.
  virtual Commit<Result<void>> append(NewChunk chunk, Time now) = 0;
  // Appends the last chunk, which may be empty, and makes the blob visible.
  virtual Commit<Result<void>> finish(NewChunk last, Time now) = 0;
  // How many bytes of a finished blob are stored now; none when there is no such blob.
  virtual std::optional<std::uint64_t> find(std::string_view key) = 0;
  // Reads part of one chunk, whether its blob is finished or not. Returns the number of bytes read; 0 when there is no
  // such chunk, or it ends before `at`.
  virtual std::size_t read(std::string_view key, std::int64_t number, std::size_t at, std::span<char> into) = 0;
  // One bounded step. From then on none of these blobs can be opened or finished.
  virtual Commit<Result<ChunkDrop>> drop(std::vector<std::string> keys) = 0;
  // The keys of finished blobs, in order, at most `limit`: after `after`, and finished before `before`.
  virtual std::vector<std::string> list(std::string_view after, Time before, int limit) = 0;
  // The same step for unfinished blobs that were not written to since `before`. Later writes to them fail.
  virtual Commit<Result<ChunkDrop>> drop_unfinished(Time before) = 0;
  // How many blobs drop_unfinished() would delete.
  virtual std::int64_t count_unfinished(Time before) = 0;
};

}  // namespace restante
