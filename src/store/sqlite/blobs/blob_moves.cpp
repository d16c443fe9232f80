#include "model/blob_move.h"

#include <fmt/format.h>

#include "store/sqlite/embedded_store.h"

namespace restante::sqlite {
namespace {

std::int64_t place(SqlTransaction& transaction, const BlobChange& change, Time now) {
  const std::int64_t rows = transaction.change(
      "UPDATE pending_uploads SET blob_key = $3, twin_key = $4 WHERE blob_key = $1 AND twin_key IS $2", change.was.key,
      or_null(change.was.twin), change.is.key, or_null(change.is.twin));
  if (rows == 0) return 0;
  std::vector<std::string> replaced{change.was.key, change.was.twin};
  std::erase_if(replaced, [&](const auto& key) { return key == change.is.key || key == change.is.twin; });
  transaction.drop_unless_needed(replaced, now);
  return rows;
}

}  // namespace

std::string EmbeddedStore::list_blobs_sql(const std::string& key, const std::string& where) {
  // Rows that share a key share everything that is read here but their ids.
  return fmt::format(
      "SELECT blob_key, twin_key, size_bytes, sha256, workspace_id, min(file_id) FROM pending_uploads "
      "WHERE {0} >= $1 AND {0} < $2 AND {0} > $3{1} GROUP BY {0} ORDER BY {0} LIMIT $4",
      key, where);
}

std::string EmbeddedStore::count_blobs_sql(const std::string& key) {
  return fmt::format(
      "SELECT count(*), coalesce(sum(size), 0), "
      "count(damage), coalesce(sum(CASE WHEN damage IS NULL THEN 0 ELSE size END), 0) "
      "FROM (SELECT max(size_bytes) AS size, max(damage) AS damage FROM pending_uploads "
      "WHERE {0} >= $1 AND {0} < $2 GROUP BY {0})",
      key);
}

Commit<Result<std::int64_t>> EmbeddedStore::change_blob_keys(std::vector<BlobChange> changes, Time now) {
  require_uploads();
  if (changes.empty()) return Commit<Result<std::int64_t>>::ready(0);
  const std::size_t bytes = changes.size() * 256;
  return write(maintenance_hints(), bytes,
               [changes = std::move(changes), now](SqlTransaction& transaction) -> Result<std::int64_t> {
                 std::int64_t rows = 0;
                 for (const auto& change : changes) rows += place(transaction, change, now);
                 return rows;
               });
}

}  // namespace restante::sqlite
