// Rows of delegations, for every verb that moves one. What changes rows belongs to the writer's thread.
#pragma once
#include "store/delegation_lifecycle.h"
#include "store/delegation_rows.h"
#include "store/sqlite/database.h"
#include "store/sqlite/inbox.h"
#include "store/store.h"

namespace restante::sqlite {

// Picked up, and neither a word of the task nor of its callee since a moment, with when that was; then the limit.
inline const std::string kSelectSilent =
    "SELECT * FROM (SELECT " + kDelegationColumns +
    ", max(updated_at, coalesce((SELECT max(coalesce(w.last_heartbeat_at, 0), coalesce(w.last_poll_at, 0)) FROM "
    "workspaces w WHERE w.id = callee_id), 0)) AS seen FROM delegations WHERE status IN ('dispatched', "
    "'in_progress') AND last_heartbeat IS NULL AND updated_at < ?1) WHERE seen < ?1 LIMIT ?2";

bool has_delegation_tables(Database& database);

// delegation_not_found.
Result<Delegation> find_delegation_row(Database& database, const std::string& id);
// All that the statement selects with kSelectDelegations.
std::vector<Delegation> delegations_of(Statement row);
// By compare-and-swap: whoever reads a row and writes it back does so in one transaction.
void insert_delegation(Database& database, const Delegation& made, const NewDelegation& wanted);
void add_step(Database& database, const std::string& id, const DelegationStep& step);
// Writes what a turn says, rows of logs included. attachment_gone, quota_exceeded.
Result<DelegationChange> carry_out(Database& database, const Delegation& was, DelegationTransition transition,
                                   const DelegationReport& report, Time now);
// The task, into the callee's inbox; `made` then says where.
Appended deliver_task(Database& database, Delegation& made, Head& head, const std::string& task,
                      const std::string& files, const std::string& traceparent, Time now);
// Of those that ended before `before`, the first. Gives how many.
std::int64_t prune_delegations(Database& database, Time before, std::int64_t limit);

}  // namespace restante::sqlite
