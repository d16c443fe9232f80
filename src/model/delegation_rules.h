// The rules of delegations that all backends share: what a report changes, and which rows (model/inbox_messages.h) are
// appended to which inbox.
// A backend reads the row, calls a function here, and writes the returned transition, all in one transaction. Values
// only.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/delegation.h"
#include "model/inbox_row.h"

namespace restante {

// The effect of a report on a delegation.
enum class DelegationOutcome {
  changed,
  repeated,  // the status was known: nothing changed but the time of the last heartbeat
  late,      // an answer after the end: it is kept and appended to the caller's inbox; the status stays
  refused,   // after the end, and there is nothing to keep
};

struct DelegationTransition {
  DelegationOutcome outcome = DelegationOutcome::repeated;
  Delegation is;
  bool writes = false;  // `is` differs from the stored row
  std::optional<DelegationStep> step{};
  std::optional<NewInboxRow> to_caller{};  // for the caller's inbox
  std::optional<NewInboxRow> to_callee{};  // for the inbox of the receiving agent
  bool ends = false;                       // the report's text and files are the result
  bool late = false;                       // they are the late answer
};

// The row of a new delegation, and its first step.
Delegation new_delegation(const NewDelegation& wanted, std::int64_t retry_count, std::int64_t depth, Time now);
DelegationStep first_step(const Delegation& made);
DelegationTransition transition_by_report(const Delegation& was, const DelegationReport& report, Time now);
// queued becomes dispatched. Else only the heartbeat and the progress change. A delegation that has ended does not
// change.
DelegationTransition transition_by_beat(const Delegation& was, const std::optional<std::string>& progress, Time now);
// The receiving agent has acked the inbox row of the task.
DelegationTransition transition_by_ack(const Delegation& was, Time now);

// The reports of the sweep.
DelegationReport overdue_report();
DelegationReport stuck_report(Time silent_since);

// Whether the report may come from the workspace `who`.
bool may_report(const Delegation& task, WorkspaceId who, const DelegationReport& report);
// Whether the task waits for its callback: it is in no inbox, and the caller did not send it itself.
bool waits_for_callback(const Delegation& task);

// The rules of a new delegation, in the order in which they are asked.
// bad_field: caller and receiving agent are the same.
Result<void> check_parties(const NewDelegation& wanted);
// delegation_id_taken: `same` has the same id. Else the request is a repetition.
Result<void> check_same_id(const NewDelegation& wanted, const Delegation& same);
// Whether the row still holds its idempotency key.
bool holds_key(const Delegation& delegation, Time now);
// bad_field. Not called for a repeated request: its deadline may have passed since the first one.
Result<void> check_deadline(const NewDelegation& wanted, Time now);
// How often the task was given before. `retried` is the row of `wanted.retry_of`, null when there is none.
// delegation_not_found, delegation_in_flight.
Result<std::int64_t> retry_number(const NewDelegation& wanted, const Delegation* retried);
// `parent` is the row of `wanted.parent_id`, null when there is none. delegation_not_found, delegation_ended.
Result<void> check_parent(const NewDelegation& wanted, const Delegation* parent);
// The next row to be read for depth_in_chain(): the parent of the last one. Empty when there is none, or when the chain
// is too deep already.
std::string next_in_chain(const NewDelegation& wanted, const std::vector<Delegation>& chain);
// Whether `above` is an ancestor of the task `below` that names it as its parent. An ancestor has a smaller depth; the
// row of an id that was pruned and used again may not.
bool is_ancestor(const Delegation& above, const Delegation& below);
// The depth of the new delegation: 1 for an empty chain. `chain` is the parent, its parent, and so on, as far as the
// rows exist. delegation_too_deep; delegation_cycle when the receiving agent takes part in the chain, or when the chain
// names the new delegation itself: the id of a pruned task may be used again, but not below its own part.
Result<std::int64_t> depth_in_chain(const NewDelegation& wanted, const std::vector<Delegation>& chain);
// How many delegations are running already. too_many_delegations.
struct DelegationLoad {
  std::int64_t of_caller = 0;
  std::int64_t of_pair = 0;
  std::int64_t of_callee = 0;
};
Result<void> check_load(const DelegationLimits& limits, const DelegationLoad& load);

}  // namespace restante
