#include "store/sqlite/uploads/upload_rows.h"

#include "model/errors.h"
#include "model/inbox_messages.h"

namespace restante::sqlite {
namespace {

void insert(Database& database, const Upload& upload, std::optional<std::int64_t> content_row) {
  database.run(
      "INSERT INTO pending_uploads (file_id, workspace_id, blob_key, content_row, size_bytes, filename, mimetype, "
      "sha256, direction, staged_by, source_id, created_at, expires_at, twin_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, ?, "
      "?, ?, ?)",
      upload.id, upload.workspace_id, or_null(upload.blob_key), content_row, upload.size, upload.name, upload.mimetype,
      upload.sha256, name_of(upload.direction), upload.staged_by, upload.source_id, upload.created_at,
      upload.expires_at, or_null(upload.twin_key));
}

}  // namespace

bool has_upload_tables(Database& database) {
  Statement row = database.query(
      "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN "
      "('pending_uploads', 'upload_contents', 'finished_uploads', 'dropped_blobs')");
  return row.step() && row.integer(0) == 4;
}

UploadRow upload_row_of(const Statement& row) { return {upload_of(row), row.optional_integer(kUploadColumnCount)}; }

Result<UploadRow> find_upload_row(Database& database, WorkspaceId workspace, FileId id) {
  static const std::string sql = kSelectUploadRows + "WHERE file_id = ?1 AND workspace_id = ?2";
  Statement row = database.query(sql, id, workspace);
  if (!row.step()) return errors::upload_gone;
  return upload_row_of(row);
}

void change_tallies(Database& database, WorkspaceId workspace, const UploadTallies& change) {
  database.run(
      "UPDATE inbox_heads SET "
      "staged_files = staged_files + ?, staged_bytes = staged_bytes + ?, "
      "fetched_files = fetched_files + ?, fetched_bytes = fetched_bytes + ?, "
      "failed_files = failed_files + ?, failed_bytes = failed_bytes + ?, "
      "acked_files = acked_files + ?, acked_bytes = acked_bytes + ?, "
      "outgoing_files = outgoing_files + ?, outgoing_bytes = outgoing_bytes + ? "
      "WHERE workspace_id = ?",
      change.staged.files, change.staged.bytes, change.fetched.files, change.fetched.bytes, change.failed.files,
      change.failed.bytes, change.acked.files, change.acked.bytes, change.outgoing.files, change.outgoing.bytes,
      workspace);
}

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

std::optional<std::int64_t> keep_content(Database& database, std::string_view content) {
  if (content.empty()) return std::nullopt;
  database.run("INSERT INTO upload_contents (content) VALUES (?)", Bytes{content});
  return database.last_row();
}

std::optional<std::int64_t> copy_content(Database& database, std::optional<std::int64_t> content_row) {
  if (!content_row) return std::nullopt;
  database.run("INSERT INTO upload_contents (content) SELECT content FROM upload_contents WHERE id = ?", *content_row);
  return database.last_row();
}

StagedUpload stage_row(Database& database, Head& head, const NewUploadRow& row, std::optional<std::int64_t> content_row,
                       UploadTallies& change) {
  StagedUpload staged{row.upload, {}};
  // The time of the inbox head, which never goes back: list_waiting() must not get a new file before its cursor.
  staged.upload.created_at = head.created_at;
  insert(database, staged.upload, content_row);
  if (staged.upload.direction == UploadDirection::in) {
    staged.row = append_row(database, staged.upload.workspace_id, head, row.activity_id, row.arrival);
  }
  change.add(staged.upload);
  return staged;
}

Appended append_receipt(Database& database, Head& head, const Upload& upload, UploadState outcome, Time now) {
  return append_row(database, upload.workspace_id, head, InboxRowId::make(now), receipt_of(upload, outcome));
}

void remove_row(Database& database, const UploadRow& row, UploadState outcome, Time now) {
  database.run(
      "INSERT OR REPLACE INTO finished_uploads "
      "(file_id, workspace_id, size_bytes, filename, mimetype, sha256, direction, staged_by, source_id, "
      "created_at, expires_at, fetched_at, acked_at, failed_at, reason, damage, outcome, ended_at) "
      "SELECT file_id, workspace_id, size_bytes, filename, mimetype, sha256, direction, staged_by, source_id, "
      "created_at, expires_at, fetched_at, acked_at, failed_at, reason, damage, ?2, ?3 "
      "FROM pending_uploads WHERE file_id = ?1",
      row.upload.id, name_of(outcome), now);
  database.run("DELETE FROM pending_uploads WHERE file_id = ?", row.upload.id);
  if (row.content_row) {
    database.run("DELETE FROM upload_contents WHERE id = ?", *row.content_row);
  }
  drop_unless_needed(database, row.upload.blob_key, now);
  drop_unless_needed(database, row.upload.twin_key, now);
}

void drop_unless_needed(Database& database, std::string_view key, Time now) {
  if (key.empty()) return;
  database.run(
      "INSERT OR IGNORE INTO dropped_blobs (blob_key, dropped_at) SELECT ?1, ?2 "
      "WHERE NOT EXISTS (SELECT 1 FROM pending_uploads WHERE blob_key = ?1) "
      "AND NOT EXISTS (SELECT 1 FROM pending_uploads WHERE twin_key = ?1)",
      key, now);
}

}  // namespace restante::sqlite
