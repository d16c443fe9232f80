#include "model/delegation_rules.h"

#include <algorithm>

#include "base/text.h"
#include "model/errors.h"
#include "model/inbox_messages.h"

namespace restante {
namespace {

using Status = DelegationStatus;

Error not_found(std::string_view field) { return {errors::delegation_not_found, {{"field", std::string(field)}}}; }

std::int64_t deepest(const DelegationLimits& limits) {
  return limits.depth > 0 ? std::min(limits.depth, kMaxDelegationDepth) : kMaxDelegationDepth;
}

DelegationTransition after_the_end(const Delegation& was, const DelegationReport& report, Time now) {
  DelegationTransition transition{DelegationOutcome::refused, was};
  // Only the receiving agent can answer late, and only once.
  if (!is_final(report.status) || report.by != DelegationActor::callee || was.late_at) return transition;
  transition.outcome = DelegationOutcome::late;
  transition.is.late_at = now;
  transition.writes = transition.late = true;
  transition.step = DelegationStep{now, report.status, report.by, true, {}};
  transition.to_caller = result_row(transition.is, report, true);
  return transition;
}

void move_to(DelegationTransition& transition, Status status, DelegationActor by, std::string note, Time now) {
  transition.outcome = DelegationOutcome::changed;
  transition.writes = true;
  transition.is.status = status;
  transition.is.updated_at = std::max(now, transition.is.updated_at);
  transition.step = DelegationStep{now, status, by, false, std::move(note)};
}

// A report counts as a heartbeat when it comes from the agent that works on the task. That is the caller if it recorded
// the task; a cancellation by the caller does not count.
bool counts_as_heartbeat(const Delegation& of, const DelegationReport& report) {
  return report.by == DelegationActor::callee || (report.by == DelegationActor::caller && of.recorded);
}

void record_progress(DelegationTransition& transition, const std::string& progress, Time now) {
  transition.is.last_heartbeat = std::max(now, transition.is.last_heartbeat.value_or(now));
  transition.writes = true;
  if (progress.empty()) return;
  transition.is.progress = cut_utf8(progress, kMaxProgressBytes);
  transition.is.progress_at = now;
}

}  // namespace

Delegation new_delegation(const NewDelegation& wanted, std::int64_t retry_count, std::int64_t depth, Time now) {
  Delegation made;
  made.id = wanted.id;
  made.caller_id = wanted.caller_id;
  made.callee_id = wanted.callee_id;
  made.task_preview = cut_utf8(wanted.task, kPreviewBytes);
  made.deadline = wanted.deadline;
  made.retry_count = retry_count;
  made.idempotency_key = wanted.idempotency_key;
  made.created_at = made.updated_at = now;
  made.recorded = wanted.recorded;
  made.retry_of = wanted.retry_of;
  made.parent_id = wanted.parent_id;
  made.depth = depth;
  return made;
}

DelegationStep first_step(const Delegation& made) {
  return {made.created_at, made.status, DelegationActor::caller, false, made.recorded ? "recorded" : ""};
}

DelegationTransition transition_by_report(const Delegation& was, const DelegationReport& report, Time now) {
  DelegationTransition transition{DelegationOutcome::repeated, was};
  if (report.status == was.status) {
    if (was.in_flight() && counts_as_heartbeat(was, report)) record_progress(transition, report.text, now);
    return transition;
  }
  if (is_final(was.status)) return after_the_end(was, report, now);
  if (!may_become(was.status, report.status)) {
    transition.outcome = DelegationOutcome::refused;
    return transition;
  }
  const bool ends = is_final(report.status);
  const bool good = report.status == Status::completed;
  move_to(transition, report.status, report.by, ends && !good ? std::string(cut_utf8(report.text, kSummaryBytes)) : "",
          now);
  if (counts_as_heartbeat(was, report)) record_progress(transition, ends ? std::string() : report.text, now);
  if (!ends) {
    transition.to_caller = status_note(transition.is);
    return transition;
  }
  transition.ends = true;
  transition.is.finished_at = now;
  if (good) transition.is.result_preview = cut_utf8(report.text, kPreviewBytes);
  if (!good) transition.is.error_detail = cut_utf8(report.text, kMaxErrorBytes);
  if (!good) transition.is.idempotency_key.clear();
  transition.to_caller = result_row(transition.is, report, false);
  return transition;
}

DelegationTransition transition_by_beat(const Delegation& was, const std::optional<std::string>& progress, Time now) {
  DelegationTransition transition{DelegationOutcome::repeated, was};
  if (is_final(was.status)) return transition;
  if (was.status == Status::queued) transition = transition_by_ack(was, now);
  record_progress(transition, progress.value_or(""), now);
  return transition;
}

DelegationTransition transition_by_ack(const Delegation& was, Time now) {
  DelegationTransition transition{DelegationOutcome::repeated, was};
  if (was.status != Status::queued) return transition;
  move_to(transition, Status::dispatched, DelegationActor::callee, "", now);
  transition.to_callee = status_note(transition.is);
  return transition;
}

DelegationReport overdue_report() {
  DelegationReport report;
  report.status = Status::failed;
  report.by = DelegationActor::platform;
  report.text = "deadline exceeded";
  return report;
}

DelegationReport stuck_report(Time silent_since) {
  DelegationReport report;
  report.status = Status::stuck;
  report.by = DelegationActor::platform;
  report.text = "stuck: the receiving agent has shown no sign of life since " + format_time(silent_since);
  return report;
}

bool may_report(const Delegation& task, WorkspaceId who, const DelegationReport& report) {
  if (report.by == DelegationActor::callee) return task.callee_id == who;
  if (report.by == DelegationActor::caller) return task.caller_id == who;
  return true;
}

bool waits_for_callback(const Delegation& task) {
  return task.status == Status::queued && !task.inbox_seq && !task.recorded;
}

Result<void> check_parties(const NewDelegation& wanted) {
  if (wanted.caller_id == wanted.callee_id) return errors::bad_field;
  return {};
}

Result<void> check_same_id(const NewDelegation& wanted, const Delegation& same) {
  if (same.caller_id != wanted.caller_id) return errors::delegation_id_taken;
  return {};
}

bool holds_key(const Delegation& delegation, Time now) {
  return delegation.in_flight() || (delegation.status == Status::completed && delegation.finished_at &&
                                    now < *delegation.finished_at + kKeyHeldAfterCompletion);
}

Result<void> check_deadline(const NewDelegation& wanted, Time now) {
  if (wanted.deadline > now) return {};
  return Error(errors::bad_field, {{"field", std::string("deadline")}}).with_sentence("deadline must be in the future");
}

Result<std::int64_t> retry_number(const NewDelegation& wanted, const Delegation* retried) {
  if (!retried || retried->caller_id != wanted.caller_id) return not_found("retry_of");
  if (retried->in_flight()) {
    return Error(errors::delegation_in_flight, {{"status", std::string(name_of(retried->status))}});
  }
  return retried->retry_count + 1;
}

Result<void> check_parent(const NewDelegation& wanted, const Delegation* parent) {
  if (!parent || parent->callee_id != wanted.caller_id) return not_found("parent_delegation_id");
  if (parent->in_flight()) return {};
  return Error(errors::delegation_ended, {{"status", std::string(name_of(parent->status))}});
}

std::string next_in_chain(const NewDelegation& wanted, const std::vector<Delegation>& chain) {
  if (chain.empty()) return wanted.parent_id;
  return std::ssize(chain) < deepest(wanted.limits) ? chain.back().parent_id : std::string();
}

bool is_ancestor(const Delegation& above, const Delegation& below) { return above.depth < below.depth; }

Result<std::int64_t> depth_in_chain(const NewDelegation& wanted, const std::vector<Delegation>& chain) {
  if (chain.empty()) return 1;
  // Also counts the ancestors that were pruned.
  const std::int64_t depth = chain.front().depth + 1;
  if (depth > deepest(wanted.limits)) {
    return Error(errors::delegation_too_deep, {{"max", deepest(wanted.limits)}});
  }
  for (const Delegation& above : chain) {
    if (above.parent_id == wanted.id || above.caller_id == wanted.callee_id || above.callee_id == wanted.callee_id) {
      return Error(errors::delegation_cycle, {{"delegation_id", above.id}});
    }
  }
  return depth;
}

Result<void> check_load(const DelegationLimits& limits, const DelegationLoad& load) {
  const auto full = [](std::string_view scope, std::int64_t max) {
    return Error(errors::too_many_delegations,
                 {{"scope", std::string(scope)}, {"max", max}, {"retry_after", std::int64_t{30}}});
  };
  if (limits.per_caller > 0 && load.of_caller >= limits.per_caller) return full("caller", limits.per_caller);
  if (limits.per_pair > 0 && load.of_pair >= limits.per_pair) return full("pair", limits.per_pair);
  if (limits.per_callee > 0 && load.of_callee >= limits.per_callee) return full("callee", limits.per_callee);
  return {};
}

}  // namespace restante
