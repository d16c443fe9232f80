#include "store/sqlite/delegations/delegation_rows.h"

#include "model/errors.h"
#include "model/inbox_messages.h"
#include "store/delegation_rows.h"
#include "store/sqlite/inbox/files.h"

namespace restante::sqlite {
namespace {

void update(Database& database, const Delegation& is, DelegationStatus was) {
  const auto before = database.total_changes();
  database.run(
      "UPDATE delegations SET status = ?, last_heartbeat = ?, result_preview = ?, error_detail = ?, idempotency_key = "
      "?, updated_at = ?, inbox_seq = ?, progress = ?, progress_at = ?, finished_at = ?, late_at = ? "
      "WHERE delegation_id = ? AND status = ?",
      name_of(is.status), is.last_heartbeat, or_null(is.result_preview), or_null(is.error_detail),
      or_null(is.idempotency_key), is.updated_at, is.inbox_seq, or_null(is.progress), is.progress_at, is.finished_at,
      is.late_at, is.id, name_of(was));
  if (database.total_changes() == before) throw std::logic_error("a delegation changed behind its writer");
}

void keep_texts(Database& database, const std::string& id, const DelegationTransition& transition,
                const DelegationReport& report) {
  if (transition.ends) {
    database.run("UPDATE delegation_texts SET result = ?, result_files = ? WHERE delegation_id = ?",
                 or_null(report.text), or_null(report.files), id);
  }
  if (transition.late) {
    database.run("UPDATE delegation_texts SET late_answer = ?, late_files = ? WHERE delegation_id = ?",
                 or_null(report.text), or_null(report.files), id);
  }
}

AppendedRow append_one(Database& database, WorkspaceId workspace, const NewInboxRow& row, Time now) {
  Head head = take_head(database, workspace, now);
  const auto at = append_row(database, workspace, head, InboxRowId::make(now), row);
  put_head(database, workspace, head);
  return {workspace, at};
}

Result<void> notify_caller(Database& database, const DelegationTransition& transition, const DelegationReport& report,
                           DelegationChange& change, Time now) {
  const WorkspaceId caller = transition.is.caller_id;
  Head head = take_head(database, caller, now);
  UploadTallies tallies;
  if ((transition.ends || transition.late) && !report.attachments.empty()) {
    auto files = stage_copies(database, caller, head, report.attachments, report.terms, tallies, now);
    if (!files) return files.error();
    change.files = std::move(*files);
  }
  change.rows.push_back({caller, append_row(database, caller, head, InboxRowId::make(now), *transition.to_caller)});
  put_head(database, caller, head, tallies);
  return {};
}

}  // namespace

Result<Delegation> find_delegation_row(Database& database, const std::string& id) {
  static const std::string sql = kSelectDelegations + "WHERE delegation_id = ?";
  Statement row = database.query(sql, id);
  if (!row.step()) return errors::delegation_not_found;
  return delegation_of(row);
}

std::vector<Delegation> delegations_of(Statement row) {
  std::vector<Delegation> all;
  while (row.step()) all.push_back(delegation_of(row));
  return all;
}

void insert_delegation(Database& database, const Delegation& made, const NewDelegation& wanted) {
  database.run(
      "INSERT INTO delegations (delegation_id, caller_id, callee_id, task_preview, status, deadline, retry_count, "
      "idempotency_key, created_at, updated_at, recorded, inbox_seq, retry_of, parent_id, depth) VALUES (?, ?, ?, ?, "
      "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      made.id, made.caller_id, made.callee_id, made.task_preview, name_of(made.status), made.deadline, made.retry_count,
      or_null(made.idempotency_key), made.created_at, made.updated_at, made.recorded ? 1 : 0, made.inbox_seq,
      or_null(made.retry_of), or_null(made.parent_id), made.depth);
  database.run("INSERT INTO delegation_texts (delegation_id, task, task_files) VALUES (?, ?, ?)", made.id, wanted.task,
               or_null(wanted.files));
  add_step(database, made.id, first_step(made));
}

void add_step(Database& database, const std::string& id, const DelegationStep& step) {
  database.run(
      "INSERT INTO delegation_steps (delegation_id, number, at, status, made_by, late, note) SELECT ?1, "
      "coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?5, ?6 FROM delegation_steps WHERE delegation_id = ?1",
      id, step.at, name_of(step.status), name_of(step.by), step.late ? 1 : 0, or_null(step.note));
}

Result<DelegationChange> carry_out(Database& database, const Delegation& was, DelegationTransition transition,
                                   const DelegationReport& report, Time now) {
  DelegationChange change;
  change.outcome = transition.outcome;
  if (transition.to_callee) change.rows.push_back(append_one(database, was.callee_id, *transition.to_callee, now));
  if (transition.to_caller) {
    const auto notified = notify_caller(database, transition, report, change, now);
    if (!notified) return notified.error();
  }
  if (transition.writes) update(database, transition.is, was.status);
  keep_texts(database, was.id, transition, report);
  if (transition.step) add_step(database, was.id, *transition.step);
  change.delegation = std::move(transition.is);
  return change;
}

Appended deliver_task(Database& database, Delegation& made, Head& head, const std::string& task,
                      const std::string& files, const std::string& traceparent, Time now) {
  const auto at =
      append_row(database, made.callee_id, head, InboxRowId::make(now), task_message(made, task, files, traceparent));
  made.inbox_seq = at.seq;
  return at;
}

}  // namespace restante::sqlite
