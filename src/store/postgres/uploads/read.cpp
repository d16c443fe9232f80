#include "model/errors.h"
#include "store/postgres/shared_store.h"
#include "store/row_columns.h"

namespace restante::postgres {
namespace {

const std::string kFind = kSelectUploads + "WHERE file_id = $1 AND workspace_id = $2";

Result<Upload> find(Connection& connection, WorkspaceId workspace, FileId id) {
  const auto found = connection.query(kFind, id, workspace);
  if (found.empty()) return errors::upload_gone;
  return upload_of(found.front());
}

Result<UploadStatus> find_finished(Connection& connection, WorkspaceId workspace, FileId id) {
  // The same columns; a finished upload has no blob any more.
  const auto found = connection.query(
      "SELECT file_id, filename, mimetype, size_bytes, sha256, NULL, workspace_id, direction, staged_by, source_id, "
      "created_at, expires_at, fetched_at, acked_at, failed_at, reason, damage, NULL, outcome, ended_at FROM "
      "finished_uploads WHERE file_id = $1 AND workspace_id = $2",
      id, workspace);
  if (found.empty()) return errors::upload_gone;
  const Row row = found.front();
  UploadStatus upload_status;
  upload_status.upload = upload_of(row);
  upload_status.state = parse_upload_state(row.view(kUploadColumnCount)).value_or(UploadState::expired);
  upload_status.ended_at = row.time(kUploadColumnCount + 1);
  return upload_status;
}

std::vector<Upload> uploads_of(const Rows& rows) {
  std::vector<Upload> page;
  for (const Row row : rows) page.push_back(upload_of(row));
  return page;
}

}  // namespace

Result<Upload> SharedStore::find_upload(WorkspaceId workspace, FileId id) {
  if (!uploads_ready_) return errors::upload_gone;
  return pool_.use([&](Connection& connection) { return find(connection, workspace, id); });
}

Result<Upload> SharedStore::read_upload(WorkspaceId workspace, FileId id) {
  if (!uploads_ready_) return errors::upload_gone;
  static const std::string sql = kUploadColumns +
                                 ", (SELECT content FROM upload_contents c WHERE c.file_id = p.file_id) FROM "
                                 "pending_uploads p WHERE file_id = $1 AND workspace_id = $2";
  return pool_.use([&](Connection& connection) -> Result<Upload> {
    const auto found = connection.query(sql, id, workspace);
    if (found.empty()) return errors::upload_gone;
    Upload upload = upload_of(found.front());
    upload.content = found.front().text(kUploadColumnCount);
    return upload;
  });
}

Result<UploadStatus> SharedStore::find_upload_status(WorkspaceId workspace, FileId id, Time now) {
  if (!uploads_ready_) return errors::upload_gone;
  return pool_.use([&](Connection& connection) -> Result<UploadStatus> {
    auto upload = find(connection, workspace, id);
    if (!upload) return find_finished(connection, workspace, id);
    upload->blob_key.clear();
    const UploadState state = upload->state(now);
    return UploadStatus{std::move(*upload), state, std::nullopt};
  });
}

std::optional<Upload> SharedStore::find_outgoing(WorkspaceId workspace, const Digest& sha256, Time now) {
  if (!uploads_ready_) return std::nullopt;
  static const std::string sql =
      kSelectUploads +
      "WHERE workspace_id = $1 AND acked_at IS NULL AND direction = 'out' AND sha256 = $2 AND expires_at > $3 AND "
      "damage IS NULL ORDER BY expires_at DESC, file_id LIMIT 1";
  return pool_.use([&](Connection& connection) -> std::optional<Upload> {
    const auto found = connection.query(sql, workspace, sha256, now);
    if (found.empty()) return std::nullopt;
    return upload_of(found.front());
  });
}

std::vector<Upload> SharedStore::list_waiting(WorkspaceId workspace, std::optional<FileId> after, int limit, Time now) {
  if (!uploads_ready_) return {};
  // If the upload `after` has been swept, the list starts from the front again: shown twice is better than never.
  static const std::string sql =
      kSelectUploads +
      "WHERE workspace_id = $1 AND acked_at IS NULL AND created_at >= $2 AND (created_at, position) > ($2, $3) AND "
      "expires_at > $4 AND direction = 'in' ORDER BY created_at, position LIMIT $5";
  return pool_.use([&](Connection& connection) {
    Time created_at = Time::min();
    std::int64_t position = 0;
    if (after) {
      const auto found =
          connection.query("SELECT created_at, position FROM pending_uploads WHERE file_id = $1 AND workspace_id = $2",
                           *after, workspace);
      if (!found.empty()) created_at = found.front().time(0), position = found.front().integer(1);
    }
    return uploads_of(connection.query(sql, workspace, created_at, position, now, std::max(limit, 0)));
  });
}

std::vector<Upload> SharedStore::walk_uploads(std::optional<FileId> after, int limit) {
  if (!uploads_ready_) return {};
  static const std::string sql = kSelectUploads + "WHERE file_id > $1 ORDER BY file_id LIMIT $2";
  return pool_.use([&](Connection& connection) {
    return uploads_of(connection.query(sql, after.value_or(FileId()), std::max(limit, 0)));
  });
}

}  // namespace restante::postgres
