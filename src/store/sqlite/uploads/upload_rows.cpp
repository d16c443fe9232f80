#include "store/sqlite/uploads/upload_rows.h"

namespace restante::sqlite {

void put_head(Database& database, WorkspaceId workspace, const Head& head, const UploadTallies& change) {
  database.run(
      "UPDATE inbox_heads SET last_seq = ?, last_created_at = ?, "
      "staged_files = staged_files + ?, staged_bytes = staged_bytes + ?, "
      "fetched_files = fetched_files + ?, fetched_bytes = fetched_bytes + ?, "
      "failed_files = failed_files + ?, failed_bytes = failed_bytes + ?, "
      "acked_files = acked_files + ?, acked_bytes = acked_bytes + ?, "
      "outgoing_files = outgoing_files + ?, outgoing_bytes = outgoing_bytes + ? "
      "WHERE workspace_id = ?",
      head.seq, head.created_at, change.staged.files, change.staged.bytes, change.fetched.files, change.fetched.bytes,
      change.failed.files, change.failed.bytes, change.acked.files, change.acked.bytes, change.outgoing.files,
      change.outgoing.bytes, workspace);
}

void drop_unless_needed(Database& database, std::string_view key, Time now) {
  if (key.empty()) return;
  database.run(
      "INSERT OR IGNORE INTO dropped_blobs (blob_key, dropped_at) SELECT ?1, ?2 "
      "WHERE NOT EXISTS (SELECT 1 FROM pending_uploads WHERE blob_key = ?1) "
      "AND NOT EXISTS (SELECT 1 FROM pending_uploads WHERE twin_key = ?1)",
      key, now);
}

std::int64_t prune_finished_uploads(Database& database, Time before, std::int64_t limit) {
  const std::int64_t start = database.total_changes();
  database.run(
      "DELETE FROM finished_uploads WHERE file_id IN "
      "(SELECT file_id FROM finished_uploads WHERE ended_at < ?1 ORDER BY ended_at LIMIT ?2)",
      before, limit);
  return database.total_changes() - start;
}

}  // namespace restante::sqlite
