#include "store/sql/store.h"

namespace restante {

std::vector<OrphanCandidate> SqlStore::list_orphan_candidates() {
  require_uploads();
  return read([](SqlReader& reader) {
    return reader.select([](const SqlRow& row) { return OrphanCandidate{row.text(0), row.time(1)}; },
                         "SELECT blob_key, since FROM orphan_candidates ORDER BY blob_key");
  });
}

Commit<Result<void>> SqlStore::change_orphan_candidates(std::vector<OrphanCandidate> found,
                                                        std::vector<std::string> gone) {
  require_uploads();
  const std::size_t bytes = (found.size() + gone.size()) * 64;
  return write(maintenance_hints(), bytes,
               [found = std::move(found), gone = std::move(gone)](SqlTransaction& transaction) -> Result<void> {
                 for (const auto& [key, since] : found) {
                   transaction.run(
                       "INSERT INTO orphan_candidates (blob_key, since) VALUES ($1, $2) ON CONFLICT DO NOTHING", key,
                       since);
                 }
                 for (const auto& key : gone) {
                   transaction.run("DELETE FROM orphan_candidates WHERE blob_key = $1", key);
                 }
                 return {};
               });
}

}  // namespace restante
