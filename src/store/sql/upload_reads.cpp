#include <algorithm>

#include "model/errors.h"
#include "store/row_columns.h"
#include "store/sql/store.h"

namespace restante {
namespace {

Result<Upload> find(SqlReader& reader, WorkspaceId workspace, FileId id) {
  static const std::string sql = kSelectUploads + "WHERE file_id = $1 AND workspace_id = $2";
  auto found = reader.find(upload_of, sql, id, workspace);
  if (!found) return errors::upload_gone;
  return std::move(*found);
}

UploadStatus finished_of(const SqlRow& row) {
  return {upload_of(row), parse_upload_state(row.view(kUploadColumnCount)).value_or(UploadState::expired),
          row.time(kUploadColumnCount + 1)};
}

Result<UploadStatus> find_finished(SqlReader& reader, WorkspaceId workspace, FileId id) {
  // The same columns; a finished upload has no blob any more.
  auto found = reader.find(
      finished_of,
      "SELECT file_id, filename, mimetype, size_bytes, sha256, NULL, workspace_id, direction, staged_by, source_id, "
      "created_at, expires_at, fetched_at, acked_at, failed_at, reason, damage, NULL, outcome, ended_at FROM "
      "finished_uploads WHERE file_id = $1 AND workspace_id = $2",
      id, workspace);
  if (!found) return errors::upload_gone;
  return std::move(*found);
}

// The condition of a group, and an upper bound of its size from the stored counts: those of one workspace, or the
// totals. The bound is the query's LIMIT, so that the rows of a small or empty group are not searched for among many
// others.
struct Group {
  std::string where;
  std::string bound;
};

Group group_of(UploadGroup group) {
  const std::string waiting = "acked_at IS NULL AND expires_at > $1 AND direction = 'in'";
  switch (group) {
    case UploadGroup::waiting:
      return {waiting, "staged_files - acked_files - outgoing_files"};
    case UploadGroup::never_fetched:
      return {waiting + " AND fetched_at IS NULL AND failed_at IS NULL",
              "staged_files - acked_files - outgoing_files - fetched_files - failed_files"};
    case UploadGroup::fetched:
      return {waiting + " AND fetched_at IS NOT NULL AND failed_at IS NULL", "fetched_files"};
    case UploadGroup::failed:
      return {waiting + " AND failed_at IS NOT NULL", "failed_files"};
    case UploadGroup::acked:
      return {"acked_at IS NOT NULL AND $1 IS NOT NULL", "acked_files"};
    case UploadGroup::expired:
      return {"acked_at IS NULL AND expires_at <= $1", "staged_files"};
    case UploadGroup::outgoing:
      return {"acked_at IS NULL AND expires_at > $1 AND direction = 'out'", "outgoing_files"};
    case UploadGroup::damaged:
      return {"damage IS NOT NULL AND $1 IS NOT NULL", "staged_files"};
  }
  return {"$1 IS NULL", "0"};
}

// Small groups have their own index.
std::string index_of(const SqlDialect& dialect, UploadGroup group) {
  if (group == UploadGroup::failed) return dialect.indexed_by("idx_pending_uploads_failed");
  return group == UploadGroup::damaged ? dialect.indexed_by("idx_pending_uploads_damaged") : "";
}

std::string order_of(UploadGroup group) { return group == UploadGroup::acked ? "acked_at" : "expires_at"; }

// Every parameter is always bound, so that the number of different statements stays small.
std::string list_sql(const SqlDialect& dialect, const UploadFilter& filter) {
  const Group group = group_of(filter.group);
  const std::string order = order_of(filter.group);
  const std::string position(dialect.position);
  const std::string own = filter.workspace ? "workspace_id = $2" : "$2 IS NULL";
  return kSelectUploads + index_of(dialect, filter.group) + "WHERE " + group.where + " AND " + own +
         " AND expires_at < $3 AND " + order + " >= $4 AND (" + order + ", " + position + ") > ($4, $5) ORDER BY " +
         order + ", " + position + " LIMIT " + std::string(dialect.least) + "($6, (SELECT CAST(coalesce(sum(" +
         group.bound + "), 0) AS bigint) FROM " +
         (filter.workspace ? "inbox_heads WHERE workspace_id = $2" : "upload_totals") + "))";
}

// Where a page begins, in the order of `time`.
struct Start {
  Time time = Time::min();
  std::int64_t position = 0;
};

// When `after` was deleted meanwhile, the list starts from the beginning: a file listed twice is better than never.
Start start_of(SqlReader& reader, const std::string& time, std::optional<FileId> after,
               std::optional<WorkspaceId> workspace) {
  if (!after) return {};
  const auto read = [](const SqlRow& row) { return row.is_null(0) ? Start() : Start{row.time(0), row.integer(1)}; };
  const std::string sql = "SELECT " + time + ", " + std::string(reader.dialect().position) +
                          " FROM pending_uploads WHERE file_id = $1 AND ($2 IS NULL OR workspace_id = $2)";
  return reader.find(read, sql, *after, workspace).value_or(Start());
}

}  // namespace

Result<Upload> SqlStore::find_upload(WorkspaceId workspace, FileId id) {
  if (!uploads_ready()) return errors::upload_gone;
  return read([&](SqlReader& reader) { return find(reader, workspace, id); });
}

Result<Upload> SqlStore::read_upload(WorkspaceId workspace, FileId id) {
  if (!uploads_ready()) return errors::upload_gone;
  const auto with_content = [](const SqlRow& row) {
    Upload upload = upload_of(row);
    upload.content = row.text(kUploadColumnCount);
    return upload;
  };
  return read([&](SqlReader& reader) -> Result<Upload> {
    // One statement, so that the content belongs to this row: SQLite uses ids of contents again after a delete.
    const std::string sql = kUploadColumns + ", (" + std::string(reader.dialect().select_content) +
                            ") FROM pending_uploads p WHERE file_id = $1 AND workspace_id = $2";
    auto found = reader.find(with_content, sql, id, workspace);
    if (!found) return errors::upload_gone;
    return std::move(*found);
  });
}

Result<UploadStatus> SqlStore::find_upload_status(WorkspaceId workspace, FileId id, Time now) {
  if (!uploads_ready()) return errors::upload_gone;
  return read([&](SqlReader& reader) -> Result<UploadStatus> {
    auto upload = find(reader, workspace, id);
    if (!upload) return find_finished(reader, workspace, id);
    upload->blob_key.clear();
    const UploadState state = upload->state(now);
    return UploadStatus{std::move(*upload), state, std::nullopt};
  });
}

std::optional<Upload> SqlStore::find_outgoing(WorkspaceId workspace, const Digest& sha256, Time now) {
  if (!uploads_ready()) return std::nullopt;
  static const std::string sql =
      kSelectUploads +
      "WHERE workspace_id = $1 AND acked_at IS NULL AND direction = 'out' AND sha256 = $2 AND expires_at > $3 AND "
      "damage IS NULL ORDER BY expires_at DESC, file_id LIMIT 1";
  return read([&](SqlReader& reader) { return reader.find(upload_of, sql, workspace, sha256, now); });
}

std::vector<Upload> SqlStore::list_waiting(WorkspaceId workspace, std::optional<FileId> after, int limit, Time now) {
  if (!uploads_ready()) return {};
  return read([&](SqlReader& reader) {
    const std::string position(reader.dialect().position);
    const std::string sql = kSelectUploads +
                            "WHERE workspace_id = $1 AND acked_at IS NULL AND created_at >= $2 AND (created_at, " +
                            position + ") > ($2, $3) AND expires_at > $4 AND direction = 'in' ORDER BY created_at, " +
                            position + " LIMIT $5";
    const Start start = start_of(reader, "created_at", after, workspace);
    return reader.select(upload_of, sql, workspace, start.time, start.position, now, std::max(limit, 0));
  });
}

std::vector<Upload> SqlStore::list_uploads(const UploadFilter& filter, Time now) {
  if (!uploads_ready()) return {};
  return read([&](SqlReader& reader) {
    const Start start = start_of(reader, order_of(filter.group), filter.after, filter.workspace);
    return reader.select(upload_of, list_sql(reader.dialect(), filter), now, filter.workspace,
                         filter.expires_before.value_or(Time::max()), start.time, start.position,
                         std::max(filter.limit, 0));
  });
}

std::vector<Upload> SqlStore::walk_uploads(std::optional<FileId> after, int limit) {
  if (!uploads_ready()) return {};
  static const std::string sql = kSelectUploads + "WHERE file_id > $1 ORDER BY file_id LIMIT $2";
  return read(
      [&](SqlReader& reader) { return reader.select(upload_of, sql, after.value_or(FileId()), std::max(limit, 0)); });
}

}  // namespace restante
