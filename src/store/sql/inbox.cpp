#include "store/inbox.h"

#include <algorithm>

#include "model/errors.h"
#include "store/sql/delegation_rows.h"
#include "store/sql/store.h"

namespace restante {
namespace {

// The first number whose next row is at or after a moment. created_at never decreases along seq, so it is found by
// bisection, without an index that every append would pay for.
std::int64_t seq_at(SqlReader& reader, WorkspaceId workspace, Time moment) {
  return reader
      .find([](const SqlRow& row) { return row.integer(0); },
            "WITH RECURSIVE bisection (earlier, step) AS (SELECT CAST(0 AS bigint), CAST(1099511627776 AS bigint) "
            "UNION ALL SELECT CASE WHEN (SELECT a.created_at FROM activity_logs a WHERE a.workspace_id = $1 AND a.seq "
            ">= earlier + step ORDER BY a.seq LIMIT 1) < $2 THEN earlier + step ELSE earlier END, step / 2 FROM "
            "bisection WHERE step > 0) SELECT earlier + 1 FROM bisection WHERE step = 0",
            workspace, moment)
      .value();
}

// Deletes rows that may go, with their message keys. The keys are not touched when no row was deleted.
std::int64_t prune_inbox(SqlTransaction& transaction, WorkspaceId workspace, Time before, Time ceiling,
                         std::int64_t limit) {
  // Locks it, too.
  if (!transaction.head(workspace)) return 0;
  const std::int64_t end = seq_at(transaction, workspace, before);
  const std::int64_t deleted = transaction.change(
      "DELETE FROM activity_logs WHERE id IN (SELECT a.id FROM activity_logs a JOIN inbox_heads h ON h.workspace_id = "
      "a.workspace_id WHERE a.workspace_id = $1 AND a.seq < $2 AND (a.activity_type <> 'a2a_receive' OR a.seq <= "
      "h.acked_seq OR a.created_at < $3) ORDER BY a.seq LIMIT $4)",
      workspace, end, ceiling, limit);
  if (deleted > 0) {
    transaction.announce_pruned(workspace);
    transaction.run(
        "DELETE FROM message_keys WHERE workspace_id = $1 AND seq < $2 AND NOT EXISTS (SELECT 1 FROM activity_logs a "
        "WHERE a.workspace_id = message_keys.workspace_id AND a.seq = message_keys.seq)",
        workspace, end);
  }
  return deleted;
}

Result<std::int64_t> prune_all(SqlTransaction& transaction, Time before, Time ceiling, Time now, std::int64_t limit,
                               bool with_uploads) {
  transaction.run("DELETE FROM idempotency_keys WHERE expires_at <= $1", now);
  transaction.prune_marks();
  // The workspaces whose oldest row is old enough, in the order in which heads are locked.
  const auto old = transaction.select([](const SqlRow& row) { return row.id<WorkspaceId>(0); },
                                      "SELECT h.workspace_id FROM inbox_heads h WHERE (SELECT a.created_at FROM "
                                      "activity_logs a WHERE a.workspace_id = h.workspace_id ORDER BY a.seq LIMIT 1) "
                                      "< $1 ORDER BY h.workspace_id",
                                      before);
  PrunableDelegations prunable;
  if (with_uploads) prunable = find_prunable_delegations(transaction, before, limit);
  if (!prunable.ids.empty()) {
    std::vector<WorkspaceId> heads = old;
    heads.insert(heads.end(), prunable.callees.begin(), prunable.callees.end());
    transaction.lock(std::move(heads));
  }
  std::int64_t deleted = 0;
  for (const auto& workspace : old) {
    if (deleted >= limit) break;
    deleted += prune_inbox(transaction, workspace, before, ceiling, limit - deleted);
  }
  if (with_uploads && deleted < limit) {
    deleted += transaction.change(
        "DELETE FROM finished_uploads WHERE file_id IN (SELECT file_id FROM finished_uploads WHERE ended_at < $1 "
        "ORDER BY ended_at LIMIT $2)",
        before, limit - deleted);
  }
  const auto room = static_cast<std::size_t>(std::max<std::int64_t>(limit - deleted, 0));
  return deleted + prune_delegations(transaction, std::span(prunable.ids).first(std::min(room, prunable.ids.size())));
}

}  // namespace

Commit<Result<std::int64_t>> SqlStore::prune(Time before, Time ceiling, Time now, int limit) {
  return write(maintenance_hints(), sizeof now,
               [before, ceiling, now, limit, with_uploads = uploads_ready()](SqlTransaction& transaction) {
                 return prune_all(transaction, before, ceiling, now, limit, with_uploads);
               });
}

}  // namespace restante
