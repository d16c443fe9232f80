// SqlChunks: what Chunks does in the same way in every backend. `Backend` is the class that derives from it. It has
//   use(body)                     returns what body(session) returns, for a session that reads
//   write(how, key, bytes, verb)  submits verb(work) for a transaction with run() and change(); `key` is of one blob
//   session_of(work)              reads inside that transaction
//   drop_some(work, keys)         deletes at most kDropChunks chunks, and the blobs that have no chunk left
//   kUnfinished                   WHERE …: blobs that are not finished and were not written to since $1
//   kOldestFirst                  ORDER BY …: at most $2 of them
//   kCannotAppend                 what is wrong when a blob is not as its last chunk left it
// The answer of a session's query() is a range of rows and has front().
#pragma once
#include <fmt/format.h>

#include "store/blob_key.h"
#include "store/chunks.h"

namespace restante {

enum class ChunkWrite { append, finish, drop };

// The limits of one drop step: a file of the usual largest size in one step, without making other verbs wait long.
inline constexpr std::int64_t kDropChunks = 32;
inline constexpr std::int64_t kDropBlobs = 256;

template <class Backend>
class SqlChunks : public Chunks {
 public:
  Commit<Result<void>> append(NewChunk chunk, Time now) override {
    return put(std::move(chunk), now, ChunkWrite::append);
  }
  Commit<Result<void>> finish(NewChunk last, Time now) override {
    return put(std::move(last), now, ChunkWrite::finish);
  }
  std::optional<std::uint64_t> find(std::string_view key) override {
    return backend().use([&](auto& session) {
      std::optional<std::uint64_t> size;
      for (const auto& row : session.query(
               "SELECT (SELECT CAST(coalesce(sum(length(c.bytes)), 0) AS bigint) FROM blob_chunks c WHERE c.blob_key = "
               "b.blob_key) FROM inline_blobs b WHERE b.blob_key = $1 AND b.finished",
               key)) {
        size = static_cast<std::uint64_t>(row.integer(0));
      }
      return size;
    });
  }
  Commit<Result<ChunkDrop>> drop(std::vector<std::string> keys) override {
    if (keys.empty()) return Commit<Result<ChunkDrop>>::ready(ChunkDrop());
    const std::string first = keys.front();
    const std::size_t bytes = keys.size() * 64;
    return backend().write(ChunkWrite::drop, first, bytes, [keys = std::move(keys)](auto& work) -> Result<ChunkDrop> {
      return Backend::drop_some(work, keys);
    });
  }
  std::vector<std::string> list(std::string_view after, Time before, int limit) override {
    // A blob is not finished before its key was made, so younger keys need not be read.
    return backend().use([&](auto& session) {
      return read_keys(session,
                       "SELECT blob_key FROM inline_blobs WHERE blob_key > $1 AND blob_key < $2 AND finished AND "
                       "touched_at < $3 ORDER BY blob_key LIMIT $4",
                       after, first_blob_key(before), before, limit);
    });
  }
  Commit<Result<ChunkDrop>> drop_unfinished(Time before) override {
    // Read first: when blobs are not stored in the database there are no such rows, and nothing has to be written.
    const bool some = backend().use([&](auto& session) {
      const auto sql = fmt::format("SELECT EXISTS (SELECT 1 FROM inline_blobs {})", Backend::kUnfinished);
      return session.query(sql, before).front().boolean(0);
    });
    if (!some) return Commit<Result<ChunkDrop>>::ready(ChunkDrop());
    return backend().write(ChunkWrite::drop, {}, sizeof before, [before](auto& work) -> Result<ChunkDrop> {
      const auto sql =
          fmt::format("SELECT blob_key FROM inline_blobs {} {}", Backend::kUnfinished, Backend::kOldestFirst);
      const auto keys = read_keys(Backend::session_of(work), sql, before, kDropBlobs);
      ChunkDrop drop = Backend::drop_some(work, keys);
      drop.more = drop.more || std::ssize(keys) == kDropBlobs;
      return drop;
    });
  }
  std::int64_t count_unfinished(Time before) override {
    const auto sql = fmt::format("SELECT count(*) FROM inline_blobs {}", Backend::kUnfinished);
    return backend().use([&](auto& session) { return session.query(sql, before).front().integer(0); });
  }

 private:
  Backend& backend() { return static_cast<Backend&>(*this); }

  template <class Session, class... Args>
  static std::vector<std::string> read_keys(Session& session, std::string_view sql, const Args&... args) {
    std::vector<std::string> keys;
    for (const auto& row : session.query(sql, args...)) keys.push_back(row.text(0));
    return keys;
  }

  Commit<Result<void>> put(NewChunk chunk, Time now, ChunkWrite how) {
    const std::string key = chunk.key;
    const std::size_t bytes = chunk.bytes.size() + sizeof chunk;
    return backend().write(how, key, bytes, [chunk = std::move(chunk), now, how](auto& work) -> Result<void> {
      record(work, chunk, now, how);
      if (!chunk.bytes.empty()) {
        work.run("INSERT INTO blob_chunks (blob_key, number, bytes) VALUES ($1, $2, $3)", chunk.key, chunk.number,
                 typename Backend::Bytes{chunk.bytes});
      }
      return {};
    });
  }

  // The first chunk inserts the blob's row. Each later one must find the row as the chunk before it left it.
  template <class Work>
  static void record(Work& work, const NewChunk& chunk, Time now, ChunkWrite how) {
    const std::int64_t more = chunk.bytes.empty() ? 0 : 1;
    const bool finished = how == ChunkWrite::finish;
    if (chunk.number == 0) {
      return work.run(
          "INSERT INTO inline_blobs (blob_key, chunks, size_bytes, finished, touched_at) VALUES ($1, $2, $3, $4, $5)",
          chunk.key, more, std::ssize(chunk.bytes), finished, now);
    }
    const auto updated = work.change(
        "UPDATE inline_blobs SET chunks = chunks + $1, size_bytes = size_bytes + $2, finished = $3, touched_at = $4 "
        "WHERE blob_key = $5 AND chunks = $6 AND NOT finished",
        more, std::ssize(chunk.bytes), finished, now, chunk.key, chunk.number);
    if (updated != 1) throw Unavailable(Backend::kCannotAppend);
  }
};

}  // namespace restante
