#include "store/postgres/blobs/chunks.h"

#include <cstring>

#include "store/blob_key.h"

namespace restante::postgres {
namespace {

// The limits of one step: the chunks of a file of the largest usual size, and no statement takes long.
constexpr std::int64_t kDropChunks = 32;
constexpr std::int64_t kDropBlobs = 256;

enum class Part { middle, last };

// The first chunk inserts the row; a later one needs the row as the chunk before it left it, or fails.
void count_chunk(Transaction& transaction, const NewChunk& chunk, Part part, Time now) {
  const std::int64_t more = chunk.bytes.empty() ? 0 : 1;
  const bool finished = part == Part::last;
  if (chunk.number == 0) {
    return transaction.run(
        "INSERT INTO inline_blobs (blob_key, chunks, size_bytes, finished, touched_at) VALUES ($1, $2, $3, $4, $5)",
        chunk.key, more, std::ssize(chunk.bytes), finished, now);
  }
  const auto updated = transaction.change(
      "UPDATE inline_blobs SET chunks = chunks + $2, size_bytes = size_bytes + $3, finished = $4, touched_at = $5 "
      "WHERE blob_key = $1 AND chunks = $6 AND NOT finished",
      chunk.key, more, std::ssize(chunk.bytes), finished, now, chunk.number);
  if (updated != 1) throw Unavailable("a blob was dropped, or a part of it lost, while it was being written");
}

Result<void> put_chunk(Transaction& transaction, const NewChunk& chunk, Part part, Time now) {
  count_chunk(transaction, chunk, part, now);
  if (!chunk.bytes.empty()) {
    transaction.run("INSERT INTO blob_chunks (blob_key, number, bytes) VALUES ($1, $2, $3)", chunk.key, chunk.number,
                    Bytes{chunk.bytes});
  }
  return {};
}

// The UPDATE comes first because it locks the rows: another drop of the same blobs waits, and an append that is still
// running finds them dropped.
ChunkDrop drop_some(Transaction& transaction, const Array& keys) {
  ChunkDrop drop;
  transaction.run(
      "UPDATE inline_blobs SET chunks = -1, finished = false, touched_at = 'epoch' WHERE blob_key = ANY($1)", keys);
  const auto chunks = transaction.change(
      "DELETE FROM blob_chunks WHERE ctid = ANY (ARRAY (SELECT ctid FROM blob_chunks WHERE blob_key = ANY($1) ORDER BY "
      "blob_key, number LIMIT $2))",
      keys, kDropChunks);
  drop.more = chunks == kDropChunks;
  if (!drop.more) drop.blobs = transaction.change("DELETE FROM inline_blobs WHERE blob_key = ANY($1)", keys);
  return drop;
}

}  // namespace

Commit<Result<void>> SharedChunks::append(NewChunk chunk, Time now) {
  const std::size_t bytes = chunk.bytes.size() + sizeof chunk;
  WriteHints hints;
  hints.lazily = true;
  WriteLane& lane = lane_of(chunk.key);
  return lane.submit(std::move(hints), bytes, [chunk = std::move(chunk), now](Transaction& transaction) {
    return put_chunk(transaction, chunk, Part::middle, now);
  });
}

Commit<Result<void>> SharedChunks::finish(NewChunk last, Time now) {
  const std::size_t bytes = last.bytes.size() + sizeof last;
  WriteLane& lane = lane_of(last.key);
  return lane.submit({}, bytes, [last = std::move(last), now](Transaction& transaction) {
    return put_chunk(transaction, last, Part::last, now);
  });
}

std::optional<std::uint64_t> SharedChunks::find(std::string_view key) {
  return pool_.use([&](Connection& connection) -> std::optional<std::uint64_t> {
    const auto rows = connection.query(
        "SELECT (SELECT coalesce(sum(octet_length(c.bytes)), 0)::bigint FROM blob_chunks c WHERE c.blob_key = "
        "b.blob_key) FROM inline_blobs b WHERE b.blob_key = $1 AND b.finished",
        key);
    if (rows.empty()) return std::nullopt;
    return static_cast<std::uint64_t>(rows.front().integer(0));
  });
}

std::size_t SharedChunks::read(std::string_view key, std::int64_t number, std::size_t at, std::span<char> into) {
  const auto count = static_cast<std::int64_t>(std::min(into.size(), kChunkBytes));
  return pool_.use([&](Connection& connection) -> std::size_t {
    const auto rows =
        connection.query("SELECT substr(bytes, $3::int, $4::int) FROM blob_chunks WHERE blob_key = $1 AND number = $2",
                         key, number, static_cast<std::int64_t>(at) + 1, count);
    if (rows.empty()) return 0;
    const auto bytes = rows.front().view(0);
    std::memcpy(into.data(), bytes.data(), bytes.size());
    return bytes.size();
  });
}

Commit<Result<ChunkDrop>> SharedChunks::drop(std::vector<std::string> keys) {
  if (keys.empty()) return Commit<Result<ChunkDrop>>::ready(ChunkDrop());
  const std::size_t bytes = keys.size() * 64;
  WriteHints hints;
  hints.alone = true;
  WriteLane& lane = lane_of(keys.front());
  return lane.submit(std::move(hints), bytes, [keys = std::move(keys)](Transaction& transaction) -> Result<ChunkDrop> {
    Array dropped(Type::text);
    for (const auto& key : keys) dropped.add(key);
    return drop_some(transaction, dropped);
  });
}

std::vector<std::string> SharedChunks::list(std::string_view after, Time before, int limit) {
  return pool_.use([&](Connection& connection) {
    std::vector<std::string> keys;
    // No blob is finished before it is begun, so younger keys need not be read.
    const auto rows = connection.query(
        "SELECT blob_key FROM inline_blobs WHERE blob_key > $1 AND blob_key < $2 AND finished AND touched_at < $3 "
        "ORDER BY blob_key LIMIT $4",
        after, first_blob_key(before), before, limit);
    for (const Row row : rows) keys.push_back(row.text(0));
    return keys;
  });
}

Commit<Result<ChunkDrop>> SharedChunks::drop_unfinished(Time before) {
  // Read first: when blobs are not stored in the database there are no such rows, and no lane needs to open a session.
  const bool some = pool_.use([&](Connection& connection) {
    return !connection.query("SELECT 1 FROM inline_blobs WHERE NOT finished AND touched_at < $1 LIMIT 1", before)
                .empty();
  });
  if (!some) return Commit<Result<ChunkDrop>>::ready(ChunkDrop());
  WriteHints hints;
  hints.alone = true;
  return lanes_.front()->submit(
      std::move(hints), sizeof before, [before](Transaction& transaction) -> Result<ChunkDrop> {
        Array keys(Type::text);
        // A locked row is being appended to, or another server drops it.
        const auto rows = transaction.connection().query(
            "SELECT blob_key FROM inline_blobs WHERE NOT finished AND touched_at < $1 ORDER BY touched_at LIMIT $2 "
            "FOR UPDATE SKIP LOCKED",
            before, kDropBlobs);
        for (const Row row : rows) keys.add(row.view(0));
        ChunkDrop drop = drop_some(transaction, keys);
        drop.more = drop.more || rows.size() == kDropBlobs;
        return drop;
      });
}

std::int64_t SharedChunks::count_unfinished(Time before) {
  return pool_.use([&](Connection& connection) {
    const auto rows =
        connection.query("SELECT count(*) FROM inline_blobs WHERE NOT finished AND touched_at < $1", before);
    return rows[0].integer(0);
  });
}

}  // namespace restante::postgres
