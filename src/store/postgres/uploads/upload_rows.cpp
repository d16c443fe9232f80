#include "store/postgres/uploads/upload_rows.h"

namespace restante::postgres {

bool has_upload_tables(Connection& connection) {
  const auto found = connection.query(
      "SELECT count(to_regclass(name)) FROM unnest(ARRAY['pending_uploads', 'upload_contents', 'finished_uploads', "
      "'dropped_blobs']) AS wanted (name)");
  return found.front().integer(0) == 4;
}

Upload upload_of(const Row& row) {
  Upload upload;
  int at = 0;
  upload.id = row.id<FileId>(at++);
  upload.name = row.text(at++);
  upload.mimetype = row.text(at++);
  upload.size = row.integer(at++);
  upload.sha256 = row.digest(at++);
  upload.blob_key = row.text(at++);
  upload.workspace_id = row.id<WorkspaceId>(at++);
  upload.direction = row.view(at++) == "out" ? UploadDirection::out : UploadDirection::in;
  upload.staged_by = row.optional_id<TokenId>(at++);
  upload.source_id = row.optional_id<WorkspaceId>(at++);
  upload.created_at = row.time(at++);
  upload.expires_at = row.time(at++);
  upload.fetched_at = row.optional_time(at++);
  upload.acked_at = row.optional_time(at++);
  upload.failed_at = row.optional_time(at++);
  upload.reason = row.text(at++);
  upload.damage = parse_upload_damage(row.view(at++));
  upload.twin_key = row.text(at++);
  return upload;
}

}  // namespace restante::postgres
