#include "store/sql/delegation_rows.h"

#include "model/errors.h"
#include "model/inbox_messages.h"
#include "store/sql/store.h"

namespace restante {
namespace {

void update(SqlTransaction& transaction, const Delegation& is, DelegationStatus was) {
  const auto changed = transaction.change(
      "UPDATE delegations SET status = $1, last_heartbeat = $2, result_preview = $3, error_detail = $4, "
      "idempotency_key = $5, updated_at = $6, inbox_seq = $7, progress = $8, progress_at = $9, finished_at = $10, "
      "late_at = $11 WHERE delegation_id = $12 AND status = $13",
      name_of(is.status), is.last_heartbeat, or_null(is.result_preview), or_null(is.error_detail),
      or_null(is.idempotency_key), is.updated_at, is.inbox_seq, or_null(is.progress), is.progress_at, is.finished_at,
      is.late_at, is.id, name_of(was));
  // No verb of ours can cause that. If it happens, PostgreSQL's writer tries again.
  if (changed != 1) throw Conflict("another writer changed the delegation");
}

void write_texts(SqlTransaction& transaction, const std::string& id, const DelegationTransition& transition,
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

void add_step(SqlTransaction& transaction, const std::string& id, const DelegationStep& step) {
  transaction.run(
      "INSERT INTO delegation_steps (delegation_id, number, at, status, made_by, late, note) VALUES ($1, (SELECT "
      "coalesce(max(number), 0) + 1 FROM delegation_steps WHERE delegation_id = $1), $2, $3, $4, $5, $6)",
      id, step.at, name_of(step.status), name_of(step.by), std::int64_t{step.late}, or_null(step.note));
}

// Also of a removed workspace: its head is never deleted.
Time time_of_next_row(SqlTransaction& transaction, WorkspaceId workspace, Time now) {
  const Head* head = transaction.head(workspace);
  if (!head) throw Unavailable("a workspace has no row in inbox_heads");
  return SqlTransaction::next_time(*head, now);
}

AppendedRow append_row(SqlTransaction& transaction, WorkspaceId workspace, const NewInboxRow& row, Time now) {
  const Time at = time_of_next_row(transaction, workspace, now);
  return {workspace, transaction.append(workspace, at, InboxRowId::make(now), row)};
}

}  // namespace

std::string select_delegations(const DelegationFilter& filter) {
  static const std::string in_flight = "status IN ('queued', 'dispatched', 'in_progress') AND ";
  std::string sql = kSelectDelegations + "WHERE ";
  std::string order = "created_at DESC, delegation_id DESC";
  if (filter.workspace) {
    const bool sent = filter.direction != DelegationFilter::Direction::received;
    sql += sent ? "caller_id = $2 AND " : "callee_id = $2 AND ";
    if (filter.peer) sql += sent ? "callee_id = $3 AND " : "caller_id = $3 AND ";
    if (filter.in_flight) sql += in_flight;
  } else {
    const bool ended = filter.status && is_final(*filter.status);
    if (ended) order = "finished_at DESC, delegation_id DESC";
    if (!ended && (filter.in_flight || filter.status)) {
      sql += in_flight;
      // The least time left comes first.
      order = "deadline, delegation_id";
    }
  }
  sql += filter.status ? "status = '" + std::string(name_of(*filter.status)) + "' " : "true ";
  return sql + "ORDER BY " + order + " LIMIT $1";
}

DelegationStatus delegation_status_of(std::string_view text) {
  const auto status = parse_delegation_status(text);
  if (!status) throw Unavailable("a delegation has a status this binary does not know");
  return *status;
}

Delegation delegation_of(const SqlRow& row) {
  Delegation one;
  int at = 0;
  one.id = row.text(at++);
  one.caller_id = row.id<WorkspaceId>(at++);
  one.callee_id = row.id<WorkspaceId>(at++);
  one.task_preview = row.text(at++);
  one.status = delegation_status_of(row.view(at++));
  one.last_heartbeat = row.optional_time(at++);
  one.deadline = row.time(at++);
  one.result_preview = row.text(at++);
  one.error_detail = row.text(at++);
  one.retry_count = row.integer(at++);
  one.idempotency_key = row.text(at++);
  one.created_at = row.time(at++);
  one.updated_at = row.time(at++);
  one.recorded = row.integer(at++) != 0;
  one.inbox_seq = row.optional_integer(at++);
  one.progress = row.text(at++);
  one.progress_at = row.optional_time(at++);
  one.finished_at = row.optional_time(at++);
  one.retry_of = row.text(at++);
  one.parent_id = row.text(at++);
  one.depth = row.integer(at++);
  one.late_at = row.optional_time(at++);
  return one;
}

Result<Delegation> find_delegation_row(SqlReader& reader, const std::string& id) {
  static const std::string sql = kSelectDelegations + "WHERE delegation_id = $1";
  auto found = reader.find(delegation_of, sql, id);
  if (!found) return errors::delegation_not_found;
  return std::move(*found);
}

void insert_delegation(SqlTransaction& transaction, const Delegation& made, const NewDelegation& wanted) {
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

Result<DelegationChange> carry_out(SqlTransaction& transaction, const Delegation& was, DelegationTransition transition,
                                   const DelegationReport& report, Time now) {
  DelegationChange change;
  change.outcome = transition.outcome;
  if ((transition.ends || transition.late) && !report.attachments.empty()) {
    const Time at = time_of_next_row(transaction, was.caller_id, now);
    auto files = stage_copies(transaction, was.caller_id, report.attachments, report.terms, at, now);
    if (!files) return files.error();
    change.files = std::move(*files);
  }
  if (transition.to_callee) change.rows.push_back(append_row(transaction, was.callee_id, *transition.to_callee, now));
  if (transition.to_caller) change.rows.push_back(append_row(transaction, was.caller_id, *transition.to_caller, now));
  if (transition.writes) update(transaction, transition.is, was.status);
  write_texts(transaction, was.id, transition, report);
  if (transition.step) add_step(transaction, was.id, *transition.step);
  change.delegation = std::move(transition.is);
  return change;
}

Appended deliver_task(SqlTransaction& transaction, Delegation& made, Time at, const std::string& task,
                      const std::string& files, const std::string& traceparent, Time now) {
  const auto appended =
      transaction.append(made.callee_id, at, InboxRowId::make(now), task_message(made, task, files, traceparent));
  made.inbox_seq = appended.seq;
  return appended;
}

PrunableDelegations find_prunable_delegations(SqlReader& reader, Time before, std::int64_t limit) {
  PrunableDelegations prunable;
  for (const char* status : {"completed", "failed", "stuck"}) {
    reader.each(
        [&](const SqlRow& row) {
          prunable.ids.push_back(row.text(0));
          prunable.callees.push_back(row.id<WorkspaceId>(1));
          return true;
        },
        "SELECT delegation_id, callee_id FROM delegations WHERE status IN ('completed', 'failed', 'stuck') AND status "
        "= $1 AND finished_at < $2 ORDER BY finished_at LIMIT $3",
        status, before, limit - std::ssize(prunable.ids));
  }
  return prunable;
}

std::int64_t prune_delegations(SqlTransaction& transaction, std::span<const std::string> ids) {
  for (const std::string& id : ids) {
    transaction.run("DELETE FROM delegation_steps WHERE delegation_id = $1", id);
    transaction.run("DELETE FROM delegation_texts WHERE delegation_id = $1", id);
  }
  std::int64_t pruned = 0;
  transaction.each_of(
      ids, [&](const std::string&, const SqlRow&) { ++pruned; },
      "DELETE FROM delegations WHERE delegation_id = $1 RETURNING 1");
  return pruned;
}

}  // namespace restante
