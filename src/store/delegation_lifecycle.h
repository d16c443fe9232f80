// The rules of delegations that all backends share: what a report changes, and which rows are appended to which inbox.
// A backend reads the row, calls a function here, and writes the returned transition, all in one transaction. Values
// only.
#pragma once
#include <optional>
#include <string>

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
// The task as the receiving agent gets it: an A2A message with the delegation's id in its metadata.
NewInboxRow task_message(const Delegation& made, const std::string& task, const std::string& files,
                         std::string traceparent);
// The note about a new delegation in the caller's inbox.
NewInboxRow sent_note(const Delegation& made);

DelegationTransition transition_by_report(const Delegation& was, const DelegationReport& report, Time now);
// queued becomes dispatched. Else only the heartbeat and the progress change. A delegation that has ended does not
// change.
DelegationTransition transition_by_beat(const Delegation& was, const std::optional<std::string>& progress, Time now);
// The receiving agent has acked the inbox row of the task.
DelegationTransition transition_by_ack(const Delegation& was, Time now);

// The reports of the sweep.
DelegationReport overdue_report();
DelegationReport stuck_report(Time silent_since);

// Whether the row still holds its idempotency key.
bool holds_key(const Delegation& delegation, Time now);
// bad_field. Not called for a repeated request: its deadline may have passed since the first one.
Result<void> check_deadline(const NewDelegation& wanted, Time now);
// delegation_too_deep, delegation_cycle: `chain` is the parent, its parent, and so on.
Result<void> check_chain(const NewDelegation& wanted, const std::vector<Delegation>& chain);
// How many delegations are running already. too_many_delegations.
struct DelegationLoad {
  std::int64_t of_caller = 0;
  std::int64_t of_pair = 0;
  std::int64_t of_callee = 0;
};
Result<void> check_load(const DelegationLimits& limits, const DelegationLoad& load);

}  // namespace restante
