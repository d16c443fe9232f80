#include "store/sqlite/blobs/chunks.h"

#include "store/blob_key.h"

namespace restante::sqlite {
namespace {

// Limits of one drop step: a file of the usual largest size in one step, without making other verbs wait long.
constexpr std::int64_t kDropChunks = 32;
constexpr std::int64_t kDropBlobs = 256;
// Value of `chunks` while a blob's chunks are being deleted: no chunk can be appended to it.
constexpr std::int64_t kBeingDropped = -1;

enum class Part { middle, last };

// The first chunk inserts the blob's row. Each later one must find the row as the chunk before it wrote it.
void record_chunk(Database& database, const NewChunk& chunk, Part part, Time now) {
  const bool empty = chunk.bytes.empty();
  const std::int64_t finished = part == Part::last ? 1 : 0;
  if (chunk.number == 0) {
    return database.run(
        "INSERT INTO inline_blobs (blob_key, chunks, size_bytes, finished, touched_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        chunk.key, empty ? 0 : 1, std::ssize(chunk.bytes), finished, now);
  }
  const auto before = database.total_changes();
  database.run(
      "UPDATE inline_blobs SET chunks = chunks + ?2, size_bytes = size_bytes + ?3, finished = ?4, touched_at = ?5 "
      "WHERE blob_key = ?1 AND chunks = ?6 AND finished = 0",
      chunk.key, empty ? 0 : 1, std::ssize(chunk.bytes), finished, now, chunk.number);
  if (database.total_changes() == before) throw Unavailable("a blob was dropped while it was being written");
}

Result<void> put_chunk(Database& database, const NewChunk& chunk, Part part, Time now) {
  record_chunk(database, chunk, part, now);
  if (!chunk.bytes.empty()) {
    database.run("INSERT INTO blob_chunks (blob_key, number, bytes) VALUES (?1, ?2, ?3)", chunk.key, chunk.number,
                 Bytes{chunk.bytes});
  }
  return {};
}

ChunkDrop drop_some(Database& database, const std::vector<std::string>& keys) {
  ChunkDrop drop;
  std::int64_t left = kDropChunks;
  for (const auto& key : keys) {
    const auto before = database.total_changes();
    database.run("DELETE FROM blob_chunks WHERE rowid IN (SELECT rowid FROM blob_chunks WHERE blob_key = ?1 LIMIT ?2)",
                 key, left);
    left -= database.total_changes() - before;
    if (left > 0) {
      const auto still = database.total_changes();
      database.run("DELETE FROM inline_blobs WHERE blob_key = ?", key);
      drop.blobs += database.total_changes() - still;
    } else {
      drop.more = true;
      database.run("UPDATE inline_blobs SET chunks = ?2, finished = 0, touched_at = 0 WHERE blob_key = ?1", key,
                   kBeingDropped);
    }
  }
  return drop;
}

}  // namespace

Commit<Result<void>> EmbeddedChunks::append(NewChunk chunk, Time now) {
  const std::size_t bytes = chunk.bytes.size() + sizeof chunk;
  return writer_.submit(bytes, [chunk = std::move(chunk), now](Database& database) {
    return put_chunk(database, chunk, Part::middle, now);
  });
}

Commit<Result<void>> EmbeddedChunks::finish(NewChunk last, Time now) {
  const std::size_t bytes = last.bytes.size() + sizeof last;
  return writer_.submit(
      bytes, [last = std::move(last), now](Database& database) { return put_chunk(database, last, Part::last, now); });
}

std::optional<std::uint64_t> EmbeddedChunks::find(std::string_view key) {
  auto reader = readers_.take();
  Statement row = reader->query(
      "SELECT (SELECT coalesce(sum(length(c.bytes)), 0) FROM blob_chunks c WHERE c.blob_key = b.blob_key) FROM "
      "inline_blobs b WHERE b.blob_key = ? AND b.finished = 1",
      key);
  if (!row.step()) return std::nullopt;
  return static_cast<std::uint64_t>(row.integer(0));
}

std::size_t EmbeddedChunks::read(std::string_view key, std::int64_t number, std::size_t at, std::span<char> into) {
  auto reader = readers_.take();
  // The statement stays open until the bytes are read: without its read transaction the rowid could be used for
  // another chunk.
  Statement row = reader->query("SELECT rowid FROM blob_chunks WHERE blob_key = ?1 AND number = ?2", key, number);
  return row.step() ? reader->read_blob("blob_chunks", "bytes", row.integer(0), at, into) : 0;
}

Commit<Result<ChunkDrop>> EmbeddedChunks::drop(std::vector<std::string> keys) {
  const std::size_t bytes = keys.size() * 64;
  return writer_.submit(
      bytes, [keys = std::move(keys)](Database& database) -> Result<ChunkDrop> { return drop_some(database, keys); });
}

std::vector<std::string> EmbeddedChunks::list(std::string_view after, Time before, int limit) {
  std::vector<std::string> keys;
  auto reader = readers_.take();
  // A blob is not finished before its key was made, so younger keys need not be read.
  Statement row = reader->query(
      "SELECT blob_key FROM inline_blobs WHERE blob_key > ?1 AND blob_key < ?2 AND finished = 1 AND touched_at < ?3 "
      "ORDER BY blob_key LIMIT ?4",
      after, first_blob_key(before), before, limit);
  while (row.step()) keys.push_back(row.text(0));
  return keys;
}

Commit<Result<ChunkDrop>> EmbeddedChunks::drop_unfinished(Time before) {
  return writer_.submit(sizeof before, [before](Database& database) -> Result<ChunkDrop> {
    std::vector<std::string> keys;
    {
      Statement row = database.query(
          "SELECT blob_key FROM inline_blobs WHERE finished = 0 AND touched_at < ?1 ORDER BY touched_at LIMIT ?2",
          before, kDropBlobs);
      while (row.step()) keys.push_back(row.text(0));
    }
    ChunkDrop drop = drop_some(database, keys);
    drop.more = drop.more || std::ssize(keys) == kDropBlobs;
    return drop;
  });
}

std::int64_t EmbeddedChunks::count_unfinished(Time before) {
  auto reader = readers_.take();
  Statement row = reader->query("SELECT count(*) FROM inline_blobs WHERE finished = 0 AND touched_at < ?1", before);
  return row.step() ? row.integer(0) : 0;
}

}  // namespace restante::sqlite
