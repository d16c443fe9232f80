#include "store/sqlite/embedded_store.h"

namespace restante::sqlite {

Commit<Result<void>> EmbeddedStore::forget_dropped_blobs(std::vector<std::string> keys) {
  if (!uploads_ready_) return Commit<Result<void>>::ready({});
  const std::size_t bytes = keys.size() * 64;
  return writer_.submit(bytes, [keys = std::move(keys)](Database& database) -> Result<void> {
    for (const auto& key : keys) database.run("DELETE FROM dropped_blobs WHERE blob_key = ?", key);
    return {};
  });
}

std::vector<std::string> EmbeddedStore::known_blobs(std::span<const std::string> keys) {
  // Without the tables no blob can be recognised as an orphan, so all count as known.
  if (!uploads_ready_) return {keys.begin(), keys.end()};
  std::vector<std::string> known;
  auto reader = readers_.take();
  for (const auto& key : keys) {
    Statement row = reader->query(
        "SELECT 1 FROM pending_uploads WHERE blob_key = ?1 "
        "UNION ALL SELECT 1 FROM dropped_blobs WHERE blob_key = ?1 "
        "UNION ALL SELECT 1 FROM pending_uploads WHERE twin_key = ?1",
        key);
    if (row.step()) known.push_back(key);
  }
  return known;
}

}  // namespace restante::sqlite
