#include <map>

#include "store/sqlite/embedded_store.h"
#include "store/sqlite/uploads/upload_rows.h"

namespace restante::sqlite {
namespace {

using RowsByWorkspace = std::map<WorkspaceId, std::vector<UploadRow>>;

// Grouped by workspace: its head is read and written once, however many of its files are due.
RowsByWorkspace due(Database& database, const std::string& sql, Time until, std::int64_t limit) {
  RowsByWorkspace rows;
  Statement row = database.query(sql, until, limit);
  while (row.step()) {
    UploadRow found = upload_row_of(row);
    rows[found.upload.workspace_id].push_back(std::move(found));
  }
  return rows;
}

std::int64_t sweep_acked(Database& database, Time until, std::int64_t limit, Time now) {
  static const std::string sql =
      kSelectUploadRows + "WHERE acked_at IS NOT NULL AND acked_at <= ?1 ORDER BY acked_at, rowid LIMIT ?2";
  std::int64_t swept = 0;
  for (const auto& [workspace, rows] : due(database, sql, until, limit)) {
    UploadTallies change;
    for (const auto& row : rows) {
      change.take(row.upload);
      remove_row(database, row, UploadState::acked, now);
      ++swept;
    }
    change_tallies(database, workspace, change);
  }
  return swept;
}

void expire(Database& database, WorkspaceId workspace, std::vector<UploadRow>& rows, Time now,
            std::vector<UploadChange>& expired) {
  Head head = take_head(database, workspace, now);
  UploadTallies change;
  for (auto& row : rows) {
    change.take(row.upload);
    remove_row(database, row, UploadState::expired, now);
    std::optional<Appended> receipt;
    if (row.upload.direction == UploadDirection::in) {
      receipt = append_receipt(database, head, row.upload, UploadState::expired, now);
    }
    expired.push_back({std::move(row.upload), receipt});
  }
  put_head(database, workspace, head, change);
}

std::vector<UploadChange> sweep_expired(Database& database, std::int64_t limit, Time now) {
  static const std::string sql =
      kSelectUploadRows + "WHERE acked_at IS NULL AND expires_at <= ?1 ORDER BY expires_at, rowid LIMIT ?2";
  std::vector<UploadChange> expired;
  for (auto& [workspace, rows] : due(database, sql, now, limit)) expire(database, workspace, rows, now, expired);
  return expired;
}

}  // namespace

Commit<Result<SweptUploads>> EmbeddedStore::sweep_uploads(std::chrono::seconds ack_retention, int limit, Time now) {
  limit = std::max(limit, 0);
  if (!uploads_ready_) return Commit<Result<SweptUploads>>::ready(SweptUploads());
  return writer_.submit(sizeof now, [ack_retention, limit, now](Database& database) -> Result<SweptUploads> {
    SweptUploads swept;
    swept.acked = sweep_acked(database, now - ack_retention, limit, now);
    swept.expired = sweep_expired(database, limit - swept.acked, now);
    swept.more = swept.acked + std::ssize(swept.expired) >= limit;
    return swept;
  });
}

std::vector<std::string> EmbeddedStore::list_dropped_blobs(int limit, Time remote_before, const std::string& after) {
  std::vector<std::string> keys;
  if (!uploads_ready_) return keys;
  auto reader = readers_.take();
  Statement row = reader->query(
      "SELECT blob_key FROM dropped_blobs "
      "WHERE blob_key > ?1 AND (instr(blob_key, ':') = 0 OR dropped_at < ?2) "
      "ORDER BY blob_key LIMIT ?3",
      after, remote_before, std::max(limit, 0));
  while (row.step()) keys.push_back(row.text(0));
  return keys;
}

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
