// Reads and writes the rows of delegations. A verb that changes a row has the head of the receiving agent's workspace
// locked. A verb that adds or ends a delegation also has the caller's head locked. Verbs name these heads in their
// WriteHints, so that no verb waits for a head while it has a row locked. Belongs to the thread of its Transaction.
#pragma once
#include "model/delegation_rules.h"
#include "store/postgres/lanes/transaction.h"
#include "store/store.h"

namespace restante::postgres {

// Picked up, and since $1 neither the task nor its receiving agent has given a sign of life. $2 is the limit.
inline const std::string kSilentCondition =
    "WHERE status IN ('dispatched', 'in_progress') AND last_heartbeat IS NULL AND updated_at < $1 AND NOT EXISTS "
    "(SELECT 1 FROM workspaces w WHERE w.id = callee_id AND "
    "(w.last_heartbeat_at >= $1 OR w.last_poll_at >= $1)) ORDER BY updated_at LIMIT $2";

// delegation_not_found.
Result<Delegation> find_delegation_row(Connection& connection, const std::string& id);
std::vector<Delegation> delegations_of(const Rows& rows);
void insert_delegation(Transaction& transaction, const Delegation& made, const NewDelegation& wanted);
// Writes what a transition changes, inbox rows included. attachment_gone, quota_exceeded.
Result<DelegationChange> carry_out(Transaction& transaction, const Delegation& was, DelegationTransition transition,
                                   const DelegationReport& report, Time now);
// Appends the task to the receiving agent's inbox and stores the row's number in `made`.
Appended deliver_task(Transaction& transaction, Delegation& made, Time at, const std::string& task,
                      const std::string& files, const std::string& traceparent, Time now);
}  // namespace restante::postgres
