#include "store/postgres/shared_store.h"

namespace restante::postgres {

Commit<Result<void>> SharedStore::forget_dropped_blobs(std::vector<std::string> keys) {
  if (!uploads_ready_ || keys.empty()) return Commit<Result<void>>::ready({});
  const std::size_t bytes = keys.size() * 64;
  return maintenance_lane_.submit({}, bytes, [keys = std::move(keys)](Transaction& transaction) -> Result<void> {
    Array removed(Type::text);
    for (const auto& key : keys) removed.add(key);
    transaction.run("DELETE FROM dropped_blobs WHERE blob_key = ANY($1)", removed);
    return {};
  });
}

std::vector<std::string> SharedStore::known_blobs(std::span<const std::string> keys) {
  // Without the tables no blob can be recognised as an orphan, so none counts as one.
  if (!uploads_ready_) return {keys.begin(), keys.end()};
  Array asked(Type::text);
  for (const auto& key : keys) asked.add(key);
  return pool_.use([&](Connection& connection) {
    std::vector<std::string> known;
    const auto rows = connection.query(
        "SELECT key FROM unnest($1) WITH ORDINALITY AS asked (key, place) "
        "WHERE EXISTS (SELECT 1 FROM pending_uploads WHERE blob_key = key) "
        "OR EXISTS (SELECT 1 FROM dropped_blobs WHERE blob_key = key) "
        "OR EXISTS (SELECT 1 FROM pending_uploads WHERE twin_key = key) "
        "ORDER BY place",
        asked);
    for (const Row row : rows) known.push_back(row.text(0));
    return known;
  });
}

}  // namespace restante::postgres
