// Rows of delegations: how they are selected, read and written. A verb that changes a row has the head of the receiving
// agent's workspace locked. A verb that adds or ends a delegation also has the caller's head locked. Verbs name these
// heads in their WriteHints, so that no verb waits for a head while it has a row locked. Belongs to the thread of its
// reader or transaction. Throws Unavailable, also for a status that this binary does not know.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "model/delegation_rules.h"
#include "store/delegations.h"
#include "store/sql/transaction.h"

namespace restante {

inline const std::string kSelectDelegations =
    "SELECT delegation_id, caller_id, callee_id, task_preview, status, last_heartbeat, deadline, result_preview, "
    "error_detail, retry_count, idempotency_key, created_at, updated_at, recorded, inbox_seq, progress, progress_at, "
    "finished_at, retry_of, parent_id, depth, late_at FROM delegations ";
constexpr int kDelegationColumnCount = 22;

// Conditions of the sweep; $1 is a moment, $2 the limit. They are written exactly as in the partial indexes, else the
// indexes would not be used.
inline constexpr const char* kOverdueCondition =
    "WHERE status IN ('queued', 'dispatched', 'in_progress') AND deadline <= $1 ORDER BY deadline LIMIT $2";
inline constexpr const char* kOldHeartbeatCondition =
    "WHERE status IN ('queued', 'dispatched', 'in_progress') AND status IN ('dispatched', 'in_progress') AND "
    "last_heartbeat < $1 ORDER BY last_heartbeat LIMIT $2";
// Picked up, and neither the task nor its receiving agent has given a sign of life.
inline constexpr const char* kSilentCondition =
    "WHERE status IN ('dispatched', 'in_progress') AND last_heartbeat IS NULL AND updated_at < $1 AND NOT EXISTS "
    "(SELECT 1 FROM workspaces w WHERE w.id = callee_id AND "
    "(w.last_heartbeat_at >= $1 OR w.last_poll_at >= $1)) ORDER BY updated_at LIMIT $2";
// A task for a removed receiving agent waits for its deadline.
inline constexpr const char* kUndeliveredCondition =
    "WHERE status = 'queued' AND inbox_seq IS NULL AND recorded = 0 AND created_at < $1 AND NOT EXISTS (SELECT 1 FROM "
    "workspaces w WHERE w.id = callee_id AND w.status = 'removed') ORDER BY created_at LIMIT $2";
// The query for a filter. Its parameters are the limit, then the workspace and the peer if the filter has them.
std::string select_delegations(const DelegationFilter& filter);

DelegationStatus delegation_status_of(std::string_view text);
// A row of kSelectDelegations.
Delegation delegation_of(const SqlRow& row);
// delegation_not_found.
Result<Delegation> find_delegation_row(SqlReader& reader, const std::string& id);

void insert_delegation(SqlTransaction& transaction, const Delegation& made, const NewDelegation& wanted);
// Writes what a transition changes, inbox rows and files included. `was` was read in the same transaction.
// attachment_gone, quota_exceeded.
Result<DelegationChange> carry_out(SqlTransaction& transaction, const Delegation& was, DelegationTransition transition,
                                   const DelegationReport& report, Time now);
// Appends the task to the receiving agent's inbox and stores the row's number in `made`.
Appended deliver_task(SqlTransaction& transaction, Delegation& made, Time at, const std::string& task,
                      const std::string& files, const std::string& traceparent, Time now);

// The first delegations that ended before `before`. The heads of `callees` must be locked when they are deleted,
// because the counts are kept by receiving agent.
struct PrunableDelegations {
  std::vector<std::string> ids;
  std::vector<WorkspaceId> callees;
};
PrunableDelegations find_prunable_delegations(SqlReader& reader, Time before, std::int64_t limit);
// Returns how many were still there.
std::int64_t prune_delegations(SqlTransaction& transaction, std::span<const std::string> ids);

}  // namespace restante
