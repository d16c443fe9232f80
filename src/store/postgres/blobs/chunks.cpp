#include "store/postgres/blobs/chunks.h"

#include <cstring>

namespace restante::postgres {

// The UPDATE comes first because it locks the rows: another drop of the same blobs waits, and an append that is still
// running finds them dropped.
ChunkDrop SharedChunks::drop_some(Transaction& transaction, const std::vector<std::string>& keys) {
  Array dropped(Type::text);
  for (const auto& key : keys) dropped.add(key);
  ChunkDrop drop;
  transaction.run(
      "UPDATE inline_blobs SET chunks = -1, finished = false, touched_at = 'epoch' WHERE blob_key = ANY($1)", dropped);
  const auto chunks = transaction.change(
      "DELETE FROM blob_chunks WHERE ctid = ANY (ARRAY (SELECT ctid FROM blob_chunks WHERE blob_key = ANY($1) ORDER BY "
      "blob_key, number LIMIT $2))",
      dropped, kDropChunks);
  drop.more = chunks == kDropChunks;
  if (!drop.more) drop.blobs = transaction.change("DELETE FROM inline_blobs WHERE blob_key = ANY($1)", dropped);
  return drop;
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

}  // namespace restante::postgres
