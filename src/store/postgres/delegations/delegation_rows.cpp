#include "store/postgres/delegations/delegation_rows.h"

#include "model/errors.h"
#include "model/inbox_messages.h"
#include "store/delegation_rows.h"
#include "store/postgres/inbox/files.h"

namespace restante::postgres {
namespace {

void update(Transaction& transaction, const Delegation& is, DelegationStatus was) {
  const auto changed = transaction.change(
      "UPDATE delegations SET status = $1, last_heartbeat = $2, result_preview = $3, error_detail = $4, "
      "idempotency_key = $5, updated_at = $6, inbox_seq = $7, progress = $8, progress_at = $9, finished_at = $10, "
      "late_at = $11 WHERE delegation_id = $12 AND status = $13",
      name_of(is.status), is.last_heartbeat, or_null(is.result_preview), or_null(is.error_detail),
      or_null(is.idempotency_key), is.updated_at, is.inbox_seq, or_null(is.progress), is.progress_at, is.finished_at,
      is.late_at, is.id, name_of(was));
  // No verb of ours can cause that. If it happens, the group is tried again.
  if (changed != 1) throw Conflict("another writer changed the delegation");
}

void write_texts(Transaction& transaction, const std::string& id, const DelegationTransition& transition,
                 const DelegationReport& report) {
  if (transition.ends) {
    transaction.run("UPDATE delegation_texts SET result = $1, result_files = $2 WHERE delegation_id = $3",
                    or_null(report.text), or_null(report.files), id);
  }
  if (transition.late) {
    transaction.run("UPDATE delegation_texts SET late_answer = $1, late_files = $2 WHERE delegation_id = $3",
                    or_null(report.text), or_null(report.files), id);
  }
}

void add_step(Transaction& transaction, const std::string& id, const DelegationStep& step) {
  transaction.run(
      "INSERT INTO delegation_steps (delegation_id, number, at, status, made_by, late, note) SELECT $1::text, "
      "coalesce(max(number), 0) + 1, $2, $3::text, $4::text, $5, $6::text FROM delegation_steps WHERE delegation_id = "
      "$1",
      id, step.at, name_of(step.status), name_of(step.by), std::int64_t{step.late}, or_null(step.note));
}

AppendedRow append_row(Transaction& transaction, WorkspaceId workspace, const NewInboxRow& row, Time now) {
  const Head* head = transaction.head(workspace);
  if (!head) throw Unavailable("a workspace has no row in inbox_heads");
  return {workspace, transaction.append(workspace, Transaction::next_time(*head, now), InboxRowId::make(now), row)};
}

Result<void> stage_result_files(Transaction& transaction, const Delegation& of, const DelegationReport& report,
                                DelegationChange& change, Time now) {
  const Head* head = transaction.head(of.caller_id);
  if (!head) throw Unavailable("a workspace has no row in inbox_heads");
  const Time at = Transaction::next_time(*head, now);
  auto files = stage_copies(transaction, of.caller_id, report.attachments, report.terms, at, now);
  if (!files) return files.error();
  change.files = std::move(*files);
  return {};
}

}  // namespace

Result<Delegation> find_delegation_row(Connection& connection, const std::string& id) {
  static const std::string sql = kSelectDelegations + "WHERE delegation_id = $1";
  const auto found = connection.query(sql, id);
  if (found.empty()) return errors::delegation_not_found;
  return delegation_of(found.front());
}

std::vector<Delegation> delegations_of(const Rows& rows) {
  std::vector<Delegation> all;
  for (const Row row : rows) all.push_back(delegation_of(row));
  return all;
}

void insert_delegation(Transaction& transaction, const Delegation& made, const NewDelegation& wanted) {
  transaction.run(
      "INSERT INTO delegations (delegation_id, caller_id, callee_id, task_preview, status, deadline, retry_count, "
      "idempotency_key, created_at, updated_at, recorded, inbox_seq, retry_of, parent_id, depth) VALUES ($1, $2, $3, "
      "$4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
      made.id, made.caller_id, made.callee_id, made.task_preview, name_of(made.status), made.deadline, made.retry_count,
      or_null(made.idempotency_key), made.created_at, made.updated_at, std::int64_t{made.recorded}, made.inbox_seq,
      or_null(made.retry_of), or_null(made.parent_id), made.depth);
  transaction.run("INSERT INTO delegation_texts (delegation_id, task, task_files) VALUES ($1, $2, $3)", made.id,
                  wanted.task, or_null(wanted.files));
  add_step(transaction, made.id, first_step(made));
}

Result<DelegationChange> carry_out(Transaction& transaction, const Delegation& was, DelegationTransition transition,
                                   const DelegationReport& report, Time now) {
  DelegationChange change;
  change.outcome = transition.outcome;
  if ((transition.ends || transition.late) && !report.attachments.empty()) {
    const auto staged = stage_result_files(transaction, was, report, change, now);
    if (!staged) return staged.error();
  }
  if (transition.to_callee) change.rows.push_back(append_row(transaction, was.callee_id, *transition.to_callee, now));
  if (transition.to_caller) change.rows.push_back(append_row(transaction, was.caller_id, *transition.to_caller, now));
  if (transition.writes) update(transaction, transition.is, was.status);
  write_texts(transaction, was.id, transition, report);
  if (transition.step) add_step(transaction, was.id, *transition.step);
  change.delegation = std::move(transition.is);
  return change;
}

Appended deliver_task(Transaction& transaction, Delegation& made, Time at, const std::string& task,
                      const std::string& files, const std::string& traceparent, Time now) {
  const auto appended =
      transaction.append(made.callee_id, at, InboxRowId::make(now), task_message(made, task, files, traceparent));
  made.inbox_seq = appended.seq;
  return appended;
}

}  // namespace restante::postgres
