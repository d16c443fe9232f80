// Functions on the rows of delegations, for all verbs that change one. Those that change rows run on the writer's
// thread inside its transaction.
#pragma once
#include "model/delegation_rules.h"
#include "store/delegation_rows.h"
#include "store/sqlite/database/database.h"
#include "store/sqlite/inbox/inbox.h"
#include "store/store.h"

namespace restante::sqlite {

// Tasks that were picked up and never had a heartbeat, and whose receiving agent has shown no sign of life since a
// moment; `seen` is when it last did. Parameters: the moment, the limit.
inline const std::string kSelectSilent =
    "SELECT * FROM (SELECT " + kDelegationColumns +
    ", max(updated_at, coalesce((SELECT max(coalesce(w.last_heartbeat_at, 0), coalesce(w.last_poll_at, 0)) FROM "
    "workspaces w WHERE w.id = callee_id), 0)) AS seen FROM delegations WHERE status IN ('dispatched', "
    "'in_progress') AND last_heartbeat IS NULL AND updated_at < ?1) WHERE seen < ?1 LIMIT ?2";

// delegation_not_found.
Result<Delegation> find_delegation_row(Database& database, const std::string& id);
// All rows of a statement that begins with kSelectDelegations.
std::vector<Delegation> delegations_of(Statement row);
void insert_delegation(Database& database, const Delegation& made, const NewDelegation& wanted);
void add_step(Database& database, const std::string& id, const DelegationStep& step);
// Writes a transition, inbox rows and files included, by compare-and-swap on the status: `was` must have been read in
// the same transaction. attachment_gone, quota_exceeded.
Result<DelegationChange> carry_out(Database& database, const Delegation& was, DelegationTransition transition,
                                   const DelegationReport& report, Time now);
// Appends the task to the inbox of the receiving agent and sets `made.inbox_seq`.
Appended deliver_task(Database& database, Delegation& made, Head& head, const std::string& task,
                      const std::string& files, const std::string& traceparent, Time now);
}  // namespace restante::sqlite
