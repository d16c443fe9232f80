#include <algorithm>

#include "model/errors.h"
#include "store/postgres/delegations/delegation_rows.h"
#include "store/postgres/inbox/read.h"
#include "store/postgres/shared_store.h"

namespace restante::postgres {
namespace {

Result<Appended> append(Transaction& transaction, WorkspaceId workspace, const Message& message, Time now) {
  const auto head = transaction.find_living_head(workspace);
  if (!head) return head.error();
  if (const auto repeated = transaction.find_repeated(workspace, message)) return *repeated;
  return transaction.append_message(workspace, Transaction::next_time(**head, now), message);
}

// Deletes rows below `end` that may go, with their message keys. The keys are not touched when no row was deleted.
std::int64_t prune_inbox(Transaction& transaction, WorkspaceId workspace, Time before, Time ceiling,
                         std::int64_t limit) {
  const Head* head = transaction.head(workspace);
  if (!head) return 0;
  const std::int64_t end = seq_at(transaction.connection(), workspace, before, head->last_seq);
  const std::int64_t deleted = transaction.change(
      "DELETE FROM activity_logs WHERE ctid = ANY(ARRAY(SELECT a.ctid FROM activity_logs a JOIN inbox_heads h ON "
      "h.workspace_id = a.workspace_id WHERE a.workspace_id = $1 AND a.seq < $2 AND (a.activity_type <> 'a2a_receive' "
      "OR a.seq <= h.acked_seq OR a.created_at < $3) ORDER BY a.seq LIMIT $4))",
      workspace, end, ceiling, limit);
  if (deleted > 0) {
    transaction.change_set().pruned.insert(workspace);
    transaction.run(
        "DELETE FROM message_keys k WHERE k.workspace_id = $1 AND k.seq < $2 AND NOT EXISTS (SELECT 1 FROM "
        "activity_logs a WHERE a.workspace_id = k.workspace_id AND a.seq = k.seq)",
        workspace, end);
  }
  return deleted;
}

Result<std::int64_t> prune_all(Transaction& transaction, Time before, Time ceiling, Time now, std::int64_t limit,
                               bool with_uploads) {
  transaction.run("DELETE FROM idempotency_keys WHERE expires_at <= $1", now);
  // Marks of servers that no longer run. A server that was only suspended makes a new one.
  transaction.run("DELETE FROM commit_marks WHERE marked_at < now() - interval '7 days'");
  // The workspaces whose oldest row is old enough, in the order in which heads are locked.
  std::vector<WorkspaceId> old;
  const auto rows = transaction.connection().query(
      "SELECT h.workspace_id FROM inbox_heads h CROSS JOIN LATERAL (SELECT created_at FROM activity_logs a WHERE "
      "a.workspace_id = h.workspace_id ORDER BY a.seq LIMIT 1) AS oldest WHERE oldest.created_at < $1 ORDER BY "
      "h.workspace_id",
      before);
  for (const Row row : rows) old.push_back(row.id<WorkspaceId>(0));
  PrunableDelegations prunable;
  if (with_uploads) prunable = find_prunable_delegations(transaction.connection(), before, limit);
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
        "DELETE FROM finished_uploads WHERE file_id = ANY(ARRAY(SELECT file_id FROM finished_uploads WHERE ended_at < "
        "$1 ORDER BY ended_at LIMIT $2))",
        before, limit - deleted);
  }
  const auto room = static_cast<std::size_t>(std::max<std::int64_t>(limit - deleted, 0));
  return deleted + prune_delegations(transaction, std::span(prunable.ids).first(std::min(room, prunable.ids.size())));
}

WriteHints hints_of(WorkspaceId workspace, const Message& message) {
  WriteHints hints{.heads = {workspace}};
  if (message.digest) hints.message.emplace(workspace, *message.digest);
  return hints;
}

}  // namespace

Commit<Result<Appended>> SharedStore::append_to_inbox(WorkspaceId workspace, const NewInboxRow& activity, Time now,
                                                      OptionalClaim<Appended> claim) {
  Message message(activity, workspace, {}, now);
  const std::size_t bytes = message.bytes();
  WriteHints hints = hints_of(workspace, message);
  hints.claim = scope_of(claim);
  return lane_of(workspace).submit(
      std::move(hints), bytes,
      under_claim(std::move(claim), now, [message = std::move(message), workspace, now](Transaction& transaction) {
        return append(transaction, workspace, message, now);
      }));
}

Commit<Result<std::int64_t>> SharedStore::ack_inbox(WorkspaceId workspace, std::int64_t seq) {
  return lane_of(workspace).submit(
      {.heads = {workspace}}, sizeof seq, [workspace, seq](Transaction& transaction) -> Result<std::int64_t> {
        const auto updated = transaction.connection().query(
            "UPDATE inbox_heads SET acked_seq = greatest(acked_seq, least($1, last_seq)) WHERE workspace_id = $2 "
            "RETURNING acked_seq",
            seq, workspace);
        if (updated.empty()) return errors::workspace_not_found;
        transaction.changed();
        return updated.front().integer(0);
      });
}

Result<InboxHead> SharedStore::find_head(WorkspaceId workspace) {
  return pool_.use([&](Connection& connection) -> Result<InboxHead> {
    const auto found = connection.query(
        "SELECT last_seq, acked_seq, last_created_at FROM inbox_heads WHERE workspace_id = $1", workspace);
    if (found.empty()) return errors::workspace_not_found;
    const Row row = found.front();
    return InboxHead{row.integer(0), row.integer(1), row.time(2)};
  });
}

Commit<Result<std::int64_t>> SharedStore::prune(Time before, Time ceiling, Time now, int limit) {
  return maintenance_lane_.submit(
      {.alone = true}, sizeof now,
      [before, ceiling, now, limit, with_uploads = uploads_ready_](Transaction& transaction) {
        return prune_all(transaction, before, ceiling, now, limit, with_uploads);
      });
}

Result<std::vector<InboxRow>> SharedStore::read_inbox(WorkspaceId workspace, const InboxQuery& query) {
  return read_cache_.read_page(workspace, query, [&] {
    return pool_.use([&](Connection& connection) { return read_page(connection, workspace, query); });
  });
}

}  // namespace restante::postgres
