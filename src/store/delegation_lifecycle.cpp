#include "store/delegation_lifecycle.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "model/errors.h"

namespace restante {
namespace {

using Status = DelegationStatus;

constexpr std::size_t kSummaryBytes = 200;

// Writes the members of a JSON list as file parts of a message.
void write_file_parts(JsonWriter& out, const std::string& files) {
  if (files.empty()) return;
  const auto list = parse_json(files);
  if (!list || !list->if_array()) return;
  for (const Json& file : *list->if_array()) {
    out.begin_object();
    out.member("kind", "file");
    out.key("file");
    out.raw(file.dump());
    out.end_object();
  }
}

void write_message(JsonWriter& out, std::string_view message_id, std::string_view role, const std::string& text,
                   const std::string& files) {
  out.member("kind", "message");
  out.member("messageId", message_id);
  out.member("role", role);
  out.key("parts");
  out.begin_array();
  if (!text.empty() || files.empty()) {
    out.begin_object();
    out.member("kind", "text");
    out.member("text", text);
    out.end_object();
  }
  write_file_parts(out, files);
  out.end_array();
}

void write_true(JsonWriter& out, std::string_view name) {
  out.key(name);
  out.boolean(true);
}

// The fields that readers of the inbox and live events use; never the text of the task or the result.
void write_facts(JsonWriter& out, const Delegation& of, Status status) {
  out.member("delegation_id", of.id);
  out.member("status", name_of(status));
  out.member("caller_id", of.caller_id.text());
  out.member("target_id", of.callee_id.text());
}

NewInboxRow note_of(const Delegation& of, std::string_view method, const std::string& summary) {
  JsonWriter body;
  body.begin_object();
  write_facts(body, of, of.status);
  body.member("deadline", format_time(of.deadline));
  if (!of.retry_of.empty()) body.member("retry_of", of.retry_of);
  if (!of.parent_id.empty()) body.member("parent_delegation_id", of.parent_id);
  body.end_object();
  NewInboxRow row;
  row.activity_type = "delegation";
  row.method = method;
  row.summary = cut_utf8(summary, kSummaryBytes);
  row.source_id = of.caller_id;
  row.target_id = of.callee_id;
  row.request_body = body.take();
  return row;
}

NewInboxRow status_note(const Delegation& of) {
  return note_of(of, "delegation_status", std::string(name_of(of.status)) + ": " + of.task_preview);
}

// The row that gives the caller the result, or a late answer.
NewInboxRow result_row(const Delegation& of, const DelegationReport& report, bool late) {
  const bool good = report.status == Status::completed;
  JsonWriter body;
  body.begin_object();
  body.member("jsonrpc", "2.0");
  body.member("method", "delegate_result");
  write_facts(body, of, report.status);
  if (late) write_true(body, "late");
  body.key("params");
  body.begin_object();
  body.key("message");
  body.begin_object();
  write_message(body, "delegation-" + of.id + (late ? "-late" : "-result"), "agent", report.text, report.files);
  body.key("metadata");
  body.begin_object();
  body.member("delegation_id", of.id);
  body.member("status", name_of(report.status));
  if (late) write_true(body, "late");
  body.end_object();
  body.end_object();
  body.end_object();
  body.end_object();
  JsonWriter response;
  response.begin_object();
  response.member("text", report.text);
  response.member("delegation_id", of.id);
  if (late) write_true(response, "late");
  response.end_object();
  NewInboxRow row;
  row.activity_type = "a2a_receive";
  row.method = "delegate_result";
  row.summary = cut_utf8(std::string(name_of(report.status)) + ": " + report.text, kSummaryBytes);
  row.source_id = of.callee_id;
  row.target_id = of.caller_id;
  row.request_body = body.take();
  row.response_body = response.take();
  row.status = good ? "ok" : "error";
  if (!good) row.error_detail = cut_utf8(report.text, kMaxErrorBytes);
  return row;
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

NewInboxRow task_message(const Delegation& made, const std::string& task, const std::string& files,
                         std::string traceparent) {
  const std::string message_id = "delegation-" + made.id;
  JsonWriter body;
  body.begin_object();
  body.member("jsonrpc", "2.0");
  body.member("id", message_id);
  body.member("method", "message/send");
  body.key("params");
  body.begin_object();
  body.key("message");
  body.begin_object();
  write_message(body, message_id, "user", task, files);
  body.key("metadata");
  body.begin_object();
  body.member("delegation_id", made.id);
  body.member("deadline", format_time(made.deadline));
  body.member("depth", made.depth);
  if (!made.retry_of.empty()) body.member("retry_of", made.retry_of);
  if (!made.parent_id.empty()) body.member("parent_delegation_id", made.parent_id);
  for (int open = 0; open < 4; ++open) body.end_object();
  NewInboxRow row;
  row.activity_type = "a2a_receive";
  row.method = "message/send";
  row.summary = cut_utf8(made.task_preview, kSummaryBytes);
  row.source_id = made.caller_id;
  row.target_id = made.callee_id;
  row.request_body = body.take();
  row.traceparent = std::move(traceparent);
  return row;
}

NewInboxRow sent_note(const Delegation& made) { return note_of(made, "delegate", made.task_preview); }

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

bool holds_key(const Delegation& delegation, Time now) {
  return delegation.in_flight() || (delegation.status == Status::completed && delegation.finished_at &&
                                    now < *delegation.finished_at + kKeyHeldAfterCompletion);
}

Result<void> check_deadline(const NewDelegation& wanted, Time now) {
  if (wanted.deadline > now) return {};
  return Error(errors::bad_field, {{"field", std::string("deadline")}}).with_sentence("deadline must be in the future");
}

Result<void> check_chain(const NewDelegation& wanted, const std::vector<Delegation>& chain) {
  const auto depth = std::ssize(chain) + 1;
  if (wanted.limits.depth > 0 && depth > wanted.limits.depth) {
    return Error(errors::delegation_too_deep, {{"max", wanted.limits.depth}});
  }
  for (const Delegation& above : chain) {
    if (above.caller_id == wanted.callee_id || above.callee_id == wanted.callee_id) {
      return Error(errors::delegation_cycle, {{"delegation_id", above.id}});
    }
  }
  return {};
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
