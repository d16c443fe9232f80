#include <map>
#include <set>

#include "model/inbox_messages.h"
#include "store/row_columns.h"
#include "store/sql/store.h"

namespace restante {
namespace {

using RowsByWorkspace = std::map<WorkspaceId, std::vector<Upload>>;

const std::string kAckedDue = " FROM pending_uploads WHERE acked_at IS NOT NULL AND acked_at <= $1 ORDER BY acked_at, ";
const std::string kExpiredDue =
    " FROM pending_uploads WHERE acked_at IS NULL AND expires_at <= $1 ORDER BY expires_at, ";

// Due uploads are found first, then the heads of their workspaces are locked, then the rows are read again: a sweep of
// another server, an ack or a recall may have come first.
RowsByWorkspace lock_due(SqlTransaction& transaction, const std::string& due, Time until, std::int64_t limit) {
  const std::string rows_due = due + std::string(transaction.dialect().position) + " LIMIT $2";
  const auto owner_of = [](const SqlRow& row) { return row.id<WorkspaceId>(0); };
  const auto found = transaction.select(owner_of, "SELECT workspace_id" + rows_due, until, limit);
  RowsByWorkspace rows;
  if (found.empty()) return rows;
  const std::set<WorkspaceId> owners(found.begin(), found.end());
  transaction.lock({owners.begin(), owners.end()});
  auto held = transaction.select(upload_of, kUploadColumns + rows_due, until, limit);
  // In the place of rows that are gone there may be others, of workspaces that are not locked. The next step sweeps
  // them.
  std::erase_if(held, [&](const Upload& upload) { return !owners.contains(upload.workspace_id); });
  for (Upload& upload : held) rows[upload.workspace_id].push_back(std::move(upload));
  return rows;
}

std::int64_t sweep_acked(SqlTransaction& transaction, Time until, std::int64_t limit, Time now) {
  std::vector<Upload> removed;
  for (auto& [workspace, rows] : lock_due(transaction, kAckedDue, until, limit)) {
    UploadTallies& tallies = transaction.tallies(workspace);
    for (auto& row : rows) {
      tallies.take(row);
      removed.push_back(std::move(row));
    }
  }
  if (!removed.empty()) transaction.remove(removed, UploadState::acked, now);
  return std::ssize(removed);
}

std::vector<UploadChange> sweep_expired(SqlTransaction& transaction, std::int64_t limit, Time now) {
  std::vector<UploadChange> expired;
  std::vector<Upload> removed;
  for (auto& [workspace, rows] : lock_due(transaction, kExpiredDue, now, limit)) {
    const Head* head = transaction.head(workspace);
    if (!head) continue;
    const Time at = SqlTransaction::next_time(*head, now);
    for (auto& row : rows) {
      transaction.tallies(workspace).take(row);
      std::optional<Appended> receipt;
      if (row.direction == UploadDirection::in) {
        receipt = transaction.append(workspace, at, InboxRowId::make(now), receipt_of(row, UploadState::expired));
      }
      removed.push_back(row);
      expired.push_back({std::move(row), receipt});
    }
    transaction.touch(workspace, at);
  }
  if (!removed.empty()) transaction.remove(removed, UploadState::expired, now);
  return expired;
}

}  // namespace

Commit<Result<SweptUploads>> SqlStore::sweep_uploads(std::chrono::seconds ack_retention, int limit, Time now) {
  limit = std::max(limit, 0);
  if (!uploads_ready()) return Commit<Result<SweptUploads>>::ready(SweptUploads());
  return write(maintenance_hints(), sizeof now,
               [ack_retention, limit, now](SqlTransaction& transaction) -> Result<SweptUploads> {
                 SweptUploads swept;
                 swept.acked = sweep_acked(transaction, now - ack_retention, limit, now);
                 swept.expired = sweep_expired(transaction, limit - swept.acked, now);
                 swept.more = swept.acked + std::ssize(swept.expired) >= limit;
                 return swept;
               });
}

std::vector<std::string> SqlStore::list_dropped_blobs(int limit, Time remote_before, const std::string& after) {
  if (!uploads_ready()) return {};
  return read([&](SqlReader& reader) {
    return reader.select([](const SqlRow& row) { return row.text(0); },
                         "SELECT blob_key FROM dropped_blobs "
                         "WHERE blob_key > $1 AND (blob_key NOT LIKE '%:%' OR dropped_at < $2) "
                         "ORDER BY blob_key LIMIT $3",
                         after, remote_before, std::max(limit, 0));
  });
}

}  // namespace restante
