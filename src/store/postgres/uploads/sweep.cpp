#include <map>

#include "model/inbox_messages.h"
#include "store/postgres/shared_store.h"
#include "store/row_columns.h"

namespace restante::postgres {
namespace {

using RowsByWorkspace = std::map<WorkspaceId, std::vector<Upload>>;

const std::string kAckedDue = "FROM pending_uploads WHERE acked_at IS NOT NULL AND acked_at <= $1 ";
const std::string kExpiredDue = "FROM pending_uploads WHERE acked_at IS NULL AND expires_at <= $1 ";

// Due uploads are found first, then the heads of their workspaces are locked, then the rows are read again: a sweep of
// another server, an ack or a recall may have come first.
RowsByWorkspace lock_due(Transaction& transaction, const std::string& due, const std::string& order, Time until,
                         std::int64_t limit) {
  Array ids(Type::uuid);
  std::set<WorkspaceId> owners;
  const std::string found = "SELECT file_id, workspace_id " + due + "ORDER BY " + order + ", position LIMIT $2";
  for (const Row row : transaction.connection().query(found, until, limit)) {
    ids.add(row.id<FileId>(0));
    owners.insert(row.id<WorkspaceId>(1));
  }
  RowsByWorkspace rows;
  if (ids.empty()) return rows;
  transaction.lock({owners.begin(), owners.end()});
  const std::string held = kUploadColumns + " " + due + "AND file_id = ANY($2) ORDER BY " + order + ", position";
  for (const Row row : transaction.connection().query(held, until, ids)) {
    Upload upload = upload_of(row);
    rows[upload.workspace_id].push_back(std::move(upload));
  }
  return rows;
}

std::int64_t sweep_acked(Transaction& transaction, Time until, std::int64_t limit, Time now) {
  std::vector<Upload> removed;
  for (auto& [workspace, rows] : lock_due(transaction, kAckedDue, "acked_at", until, limit)) {
    UploadTallies& tallies = transaction.tallies(workspace);
    for (auto& row : rows) {
      tallies.take(row);
      removed.push_back(std::move(row));
    }
  }
  if (!removed.empty()) transaction.remove(removed, UploadState::acked, now);
  return std::ssize(removed);
}

std::vector<UploadChange> sweep_expired(Transaction& transaction, std::int64_t limit, Time now) {
  std::vector<UploadChange> expired;
  std::vector<Upload> removed;
  for (auto& [workspace, rows] : lock_due(transaction, kExpiredDue, "expires_at", now, limit)) {
    const Head* head = transaction.head(workspace);
    if (!head) continue;
    const Time at = Transaction::next_time(*head, now);
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

Commit<Result<SweptUploads>> SharedStore::sweep_uploads(std::chrono::seconds ack_retention, int limit, Time now) {
  limit = std::max(limit, 0);
  if (!uploads_ready_) return Commit<Result<SweptUploads>>::ready(SweptUploads());
  return maintenance_lane_.submit({.alone = true}, sizeof now,
                                  [ack_retention, limit, now](Transaction& transaction) -> Result<SweptUploads> {
                                    SweptUploads swept;
                                    swept.acked = sweep_acked(transaction, now - ack_retention, limit, now);
                                    swept.expired = sweep_expired(transaction, limit - swept.acked, now);
                                    swept.more = swept.acked + std::ssize(swept.expired) >= limit;
                                    return swept;
                                  });
}

std::vector<std::string> SharedStore::list_dropped_blobs(int limit, Time remote_before, const std::string& after) {
  if (!uploads_ready_) return {};
  return pool_.use([&](Connection& connection) {
    std::vector<std::string> keys;
    const auto rows = connection.query(
        "SELECT blob_key FROM dropped_blobs "
        "WHERE blob_key > $1 AND (strpos(blob_key, ':') = 0 OR dropped_at < $2) "
        "ORDER BY blob_key LIMIT $3",
        after, remote_before, std::max(limit, 0));
    for (const Row row : rows) keys.push_back(row.text(0));
    return keys;
  });
}

Commit<Result<void>> SharedStore::forget_dropped_blobs(std::vector<std::string> keys) {
  if (!uploads_ready_ || keys.empty()) return Commit<Result<void>>::ready({});
  const std::size_t bytes = keys.size() * 64;
  return maintenance_lane_.submit({}, bytes, [keys = std::move(keys)](Transaction& transaction) -> Result<void> {
    Array removed(Type::text);
    for (const auto& key : keys) removed.add(key);
    transaction.run("DELETE FROM dropped_blobs WHERE blob_key = ANY($1)", removed);
    return {};
  });
}

std::vector<std::string> SharedStore::known_blobs(std::span<const std::string> keys) {
  // Without the tables no blob can be recognised as an orphan, so none counts as one.
  if (!uploads_ready_) return {keys.begin(), keys.end()};
  Array asked(Type::text);
  for (const auto& key : keys) asked.add(key);
  return pool_.use([&](Connection& connection) {
    std::vector<std::string> known;
    const auto rows = connection.query(
        "SELECT key FROM unnest($1) WITH ORDINALITY AS asked (key, place) "
        "WHERE EXISTS (SELECT 1 FROM pending_uploads WHERE blob_key = key) "
        "OR EXISTS (SELECT 1 FROM dropped_blobs WHERE blob_key = key) "
        "OR EXISTS (SELECT 1 FROM pending_uploads WHERE twin_key = key) "
        "ORDER BY place",
        asked);
    for (const Row row : rows) known.push_back(row.text(0));
    return known;
  });
}

}  // namespace restante::postgres
