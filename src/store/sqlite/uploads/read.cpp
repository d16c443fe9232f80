#include "model/errors.h"
#include "store/sqlite/embedded_store.h"
#include "store/sqlite/uploads/upload_rows.h"

namespace restante::sqlite {
namespace {

UploadStatus status_of_upload(const Statement& row) {
  UploadStatus upload_status;
  Upload& upload = upload_status.upload;
  upload.id = row.id<FileId>(0);
  upload.workspace_id = row.id<WorkspaceId>(1);
  upload.size = row.integer(2);
  upload.name = row.text(3);
  upload.mimetype = row.text(4);
  upload.sha256 = row.digest(5);
  upload.direction = row.view(6) == "out" ? UploadDirection::out : UploadDirection::in;
  upload.staged_by = row.optional_id<TokenId>(7);
  upload.created_at = row.time(8);
  upload.expires_at = row.time(9);
  upload.fetched_at = row.optional_time(10);
  upload.acked_at = row.optional_time(11);
  upload.failed_at = row.optional_time(12);
  upload.reason = row.text(13);
  upload_status.state = parse_upload_state(row.view(14)).value_or(UploadState::expired);
  upload_status.ended_at = row.time(15);
  upload.source_id = row.optional_id<WorkspaceId>(16);
  upload.damage = parse_upload_damage(row.view(17));
  return upload_status;
}

Result<UploadStatus> find_finished(Database& database, WorkspaceId workspace, FileId id) {
  Statement row = database.query(
      "SELECT file_id, workspace_id, size_bytes, filename, mimetype, sha256, direction, staged_by, created_at, "
      "expires_at, fetched_at, acked_at, failed_at, reason, outcome, ended_at, source_id, damage FROM finished_uploads "
      "WHERE file_id = ?1 AND workspace_id = ?2",
      id, workspace);
  if (!row.step()) return errors::upload_gone;
  return status_of_upload(row);
}

}  // namespace

Result<Upload> EmbeddedStore::find_upload(WorkspaceId workspace, FileId id) {
  if (!uploads_ready_) return errors::upload_gone;
  auto row = find_upload_row(*readers_.take(), workspace, id);
  if (!row) return row.error();
  return std::move(row->upload);
}

Result<Upload> EmbeddedStore::read_upload(WorkspaceId workspace, FileId id) {
  if (!uploads_ready_) return errors::upload_gone;
  // One statement, so that the content belongs to this row: ids of contents are used again after a delete.
  static const std::string sql =
      kUploadColumns +
      ", content_row, (SELECT content FROM upload_contents WHERE id = content_row) FROM pending_uploads "
      "WHERE file_id = ?1 AND workspace_id = ?2";
  auto reader = readers_.take();
  Statement row = reader->query(sql, id, workspace);
  if (!row.step()) return errors::upload_gone;
  Upload upload = upload_row_of(row).upload;
  upload.content = row.blob(19);
  return upload;
}

Result<UploadStatus> EmbeddedStore::find_upload_status(WorkspaceId workspace, FileId id, Time now) {
  if (!uploads_ready_) return errors::upload_gone;
  auto reader = readers_.take();
  auto row = find_upload_row(*reader, workspace, id);
  if (!row) return find_finished(*reader, workspace, id);
  row->upload.blob_key.clear();
  const UploadState state = row->upload.state(now);
  return UploadStatus{std::move(row->upload), state, std::nullopt};
}

std::optional<Upload> EmbeddedStore::find_outgoing(WorkspaceId workspace, const Digest& sha256, Time now) {
  if (!uploads_ready_) return std::nullopt;
  static const std::string sql =
      kSelectUploadRows +
      "WHERE workspace_id = ?1 AND acked_at IS NULL AND direction = 'out' AND sha256 = ?2 AND expires_at > ?3 AND "
      "damage IS NULL ORDER BY expires_at DESC, file_id LIMIT 1";
  auto reader = readers_.take();
  Statement row = reader->query(sql, workspace, sha256, now);
  if (!row.step()) return std::nullopt;
  return upload_row_of(row).upload;
}

std::vector<Upload> EmbeddedStore::list_waiting(WorkspaceId workspace, std::optional<FileId> after, int limit,
                                                Time now) {
  std::vector<Upload> waiting;
  if (!uploads_ready_) return waiting;
  auto reader = readers_.take();
  std::int64_t created_at = INT64_MIN;
  std::int64_t rowid = 0;
  // When `after` was deleted meanwhile, the list starts from the beginning: a file listed twice is better than never.
  if (after) {
    Statement row = reader->query(
        "SELECT created_at, rowid FROM pending_uploads WHERE file_id = ?1 AND workspace_id = ?2", *after, workspace);
    if (row.step()) created_at = row.integer(0), rowid = row.integer(1);
  }
  static const std::string sql =
      kSelectUploadRows +
      "WHERE workspace_id = ?1 AND acked_at IS NULL AND (created_at, rowid) > (?2, ?3) AND expires_at > ?4 "
      "AND direction = 'in' ORDER BY created_at, rowid LIMIT ?5";
  Statement row = reader->query(sql, workspace, created_at, rowid, now, std::max(limit, 0));
  while (row.step()) waiting.push_back(upload_row_of(row).upload);
  return waiting;
}

std::vector<Upload> EmbeddedStore::walk_uploads(std::optional<FileId> after, int limit) {
  std::vector<Upload> page;
  if (!uploads_ready_) return page;
  static const std::string sql = kSelectUploadRows + "WHERE file_id > ?1 ORDER BY file_id LIMIT ?2";
  auto reader = readers_.take();
  Statement row = reader->query(sql, after.value_or(FileId()), std::max(limit, 0));
  while (row.step()) page.push_back(upload_row_of(row).upload);
  return page;
}

}  // namespace restante::sqlite
