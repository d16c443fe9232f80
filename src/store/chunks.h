// Chunks: bytes in the database itself, as rows of at most a mebibyte. This header is the contract; store/inline makes
// Blobs of it.
//
// One chunk is one write, and nothing is held between two: no transaction, no session, no writer. Until a blob is
// finished nobody can read it. What was appended is durable when its blob is finished, not before: a write that
// finds that something before it was lost fails with Unavailable. Thread-safe; of one blob, one write at a time. Reads
// block and throw Unavailable; writes fail with it through their Commit, or with StorageFull, if not at once.
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

// One chunk on its way: of which blob, as the how manieth from 0, and what is in it, 1 to kChunkBytes bytes.
struct NewChunk {
  std::string key;
  std::int64_t number = 0;
  std::string bytes;
};

struct ChunkDrop {
  std::int64_t blobs = 0;  // of which nothing is left
  bool more = false;       // something is: go on
};

class Chunks {
 public:
  virtual ~Chunks() = default;

  // The first one begins its blob.
  virtual Commit<Result<void>> append(NewChunk chunk, Time now) = 0;
  // The last one, which may be empty, and from then on the blob is there.
  virtual Commit<Result<void>> finish(NewChunk last, Time now) = 0;
  // How many bytes of a finished blob are there now; nothing where there is none.
  virtual std::optional<std::uint64_t> find(std::string_view key) = 0;
  // Part of one chunk, whether its blob is finished or not: how many bytes from `at` there were; 0 where there is no
  // such chunk, or it ends before.
  virtual std::size_t read(std::string_view key, std::int64_t number, std::size_t at, std::span<char> into) = 0;
  // One bounded step. From then on nobody can open or finish any of them.
  virtual Commit<Result<ChunkDrop>> drop(std::vector<std::string> keys) = 0;
  // The keys of finished blobs, in order, at most `limit`: after `after`, and finished before `before`.
  virtual std::vector<std::string> list(std::string_view after, Time before, int limit) = 0;
  // The same step for unfinished ones that were not touched since `before`. Whoever still writes one is refused.
  virtual Commit<Result<ChunkDrop>> drop_unfinished(Time before) = 0;
  // How many blobs that would be.
  virtual std::int64_t count_unfinished(Time before) = 0;
};

}  // namespace restante
