// The life of a delegation as far as every backend tells it alike: what a word about it changes, and what is written to
// whose log. A backend finds the row as it stands, asks here, and writes down what it is told, in one transaction.
// Values only.
#pragma once
#include <optional>
#include <string>

#include "base/error.h"
#include "model/delegation.h"
#include "model/inbox_row.h"

namespace restante {

// What became of a word about a delegation.
enum class DelegationOutcome {
  changed,
  repeated,  // it says what is known: nothing changed but the time of the last word
  late,      // an answer after the end: kept, and told to the caller; what stands, stands
  refused,   // after the end, and nothing to keep
};

struct DelegationTransition {
  DelegationOutcome outcome = DelegationOutcome::repeated;
  Delegation is;
  bool writes = false;  // the row is different
  std::optional<DelegationStep> step{};
  std::optional<NewInboxRow> to_caller{};  // into the caller's log
  std::optional<NewInboxRow> to_callee{};
  bool ends = false;  // the report's text and files are the result
  bool late = false;  // they are the late answer
};

// The row that is about to be made, and its first step.
Delegation new_delegation(const NewDelegation& wanted, std::int64_t retry_count, std::int64_t depth, Time now);
DelegationStep first_step(const Delegation& made);
// The task as the callee gets it: an A2A message whose metadata carries the delegation's id.
NewInboxRow task_message(const Delegation& made, const std::string& task, const std::string& files,
                         std::string traceparent);
// What the caller's log says of it.
NewInboxRow sent_note(const Delegation& made);

DelegationTransition transition_by_report(const Delegation& was, const DelegationReport& report, Time now);
// queued becomes dispatched. Nothing else changes but the heartbeat and the note, and of one that has ended nothing.
DelegationTransition transition_by_beat(const Delegation& was, const std::optional<std::string>& progress, Time now);
// The callee's ack has passed its row.
DelegationTransition transition_by_ack(const Delegation& was, Time now);

// What the sweep says.
DelegationReport overdue_report();
DelegationReport stuck_report(Time silent_since);

// Whether the row still holds its idempotency key.
bool holds_key(const Delegation& delegation, Time now);
// bad_field. Asked only of what is no repetition: a task that is given again may be past its deadline.
Result<void> check_deadline(const NewDelegation& wanted, Time now);
// delegation_too_deep, delegation_cycle: `chain` is the parent, its parent, and so on.
Result<void> check_chain(const NewDelegation& wanted, const std::vector<Delegation>& chain);
// too_many_delegations, by what is under way already.
struct DelegationLoad {
  std::int64_t of_caller = 0;
  std::int64_t of_pair = 0;
  std::int64_t of_callee = 0;
};
Result<void> check_load(const DelegationLimits& limits, const DelegationLoad& load);

}  // namespace restante
