#include "store/sqlite/blobs/chunks.h"

namespace restante::sqlite {
namespace {

// Value of `chunks` while a blob's chunks are being deleted: no chunk can be appended to it.
constexpr std::int64_t kBeingDropped = -1;

}  // namespace

ChunkDrop EmbeddedChunks::drop_some(Database& database, const std::vector<std::string>& keys) {
  ChunkDrop drop;
  std::int64_t left = kDropChunks;
  for (const auto& key : keys) {
    left -= database.change(
        "DELETE FROM blob_chunks WHERE rowid IN (SELECT rowid FROM blob_chunks WHERE blob_key = ?1 LIMIT ?2)", key,
        left);
    if (left > 0) {
      drop.blobs += database.change("DELETE FROM inline_blobs WHERE blob_key = ?", key);
    } else {
      drop.more = true;
      database.run("UPDATE inline_blobs SET chunks = ?2, finished = 0, touched_at = 0 WHERE blob_key = ?1", key,
                   kBeingDropped);
    }
  }
  return drop;
}

std::size_t EmbeddedChunks::read(std::string_view key, std::int64_t number, std::size_t at, std::span<char> into) {
  auto reader = readers_.take();
  // The statement stays open until the bytes are read: without its read transaction the rowid could be used for
  // another chunk.
  Statement row = reader->query("SELECT rowid FROM blob_chunks WHERE blob_key = ?1 AND number = ?2", key, number);
  return row.step() ? reader->read_blob("blob_chunks", "bytes", row.integer(0), at, into) : 0;
}

}  // namespace restante::sqlite
