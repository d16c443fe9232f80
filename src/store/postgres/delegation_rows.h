// Rows of delegations, for every verb that moves one. Whoever changes a row holds the head of its callee, whoever adds
// or ends one that of its caller, too: declared before the verb's turn, so that heads are never waited for while a row
// is held. Belongs to the thread of its Transaction.
#pragma once
#include <span>

#include "store/delegation_lifecycle.h"
#include "store/postgres/transaction.h"

namespace restante::postgres {

// Picked up, and neither a word of the task nor of its callee since a moment; then the limit.
inline const std::string kSilentCondition =
    "WHERE status IN ('dispatched', 'in_progress') AND last_heartbeat IS NULL AND updated_at < $1 AND NOT EXISTS "
    "(SELECT 1 FROM workspaces w WHERE w.id = callee_id AND "
    "(w.last_heartbeat_at >= $1 OR w.last_poll_at >= $1)) ORDER BY updated_at LIMIT $2";

bool has_delegation_tables(Connection& connection);

// delegation_not_found.
Result<Delegation> find_delegation_row(Connection& connection, const std::string& id);
std::vector<Delegation> delegations_of(const Rows& rows);
void insert_delegation(Transaction& transaction, const Delegation& made, const NewDelegation& wanted);
// Writes what a turn says, rows of logs included. attachment_gone, quota_exceeded.
Result<DelegationChange> carry_out(Transaction& transaction, const Delegation& was, DelegationTransition transition,
                                   const DelegationReport& report, Time now);
// The task, into the callee's inbox; `made` then says where.
Appended deliver_task(Transaction& transaction, Delegation& made, Time at, const std::string& task,
                      const std::string& files, const std::string& traceparent, Time now);
// The first that ended before `before`, and whose heads must be held when they go: their count is kept by callee.
struct PrunableDelegations {
  std::vector<std::string> ids;
  std::vector<WorkspaceId> callees;
};
PrunableDelegations find_prunable_delegations(Connection& connection, Time before, std::int64_t limit);
// Gives how many were there still.
std::int64_t prune_delegations(Transaction& transaction, std::span<const std::string> ids);

}  // namespace restante::postgres
