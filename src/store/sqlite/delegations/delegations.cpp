#include "model/errors.h"
#include "model/inbox_messages.h"
#include "store/delegation_rows.h"
#include "store/sqlite/delegations/delegation_rows.h"
#include "store/sqlite/embedded_store.h"
#include "store/sqlite/inbox/files.h"
#include "store/sqlite/workspaces/claims.h"

namespace restante::sqlite {
namespace {

// The delegation with the same id, or with an idempotency key that is still held. A key that is no longer held is
// removed from its old delegation.
Result<std::optional<Delegation>> find_hit(Database& database, const NewDelegation& wanted, Time now) {
  if (auto same = find_delegation_row(database, wanted.id)) {
    if (const auto ours = check_same_id(wanted, *same); !ours) return ours.error();
    return std::optional<Delegation>(std::move(*same));
  }
  if (wanted.idempotency_key.empty()) return std::optional<Delegation>();
  static const std::string sql = kSelectDelegations + "WHERE caller_id = ?1 AND idempotency_key = ?2";
  auto holders = delegations_of(database.query(sql, wanted.caller_id, wanted.idempotency_key));
  if (holders.empty()) return std::optional<Delegation>();
  if (holds_key(holders.front(), now)) return std::optional<Delegation>(std::move(holders.front()));
  database.run("UPDATE delegations SET idempotency_key = NULL WHERE delegation_id = ?", holders.front().id);
  return std::optional<Delegation>();
}

Result<std::int64_t> retries_of(Database& database, const NewDelegation& wanted) {
  if (wanted.retry_of.empty()) return 0;
  const auto retried = find_delegation_row(database, wanted.retry_of);
  return retry_number(wanted, retried ? &*retried : nullptr);
}

Result<std::int64_t> depth_of(Database& database, const NewDelegation& wanted) {
  if (wanted.parent_id.empty()) return depth_in_chain(wanted, {});
  const auto find = [&](const std::string& id) { return find_delegation_row(database, id); };
  auto parent = find(wanted.parent_id);
  if (const auto fine = check_parent(wanted, parent ? &*parent : nullptr); !fine) return fine.error();
  return depth_in_chain(wanted, chain_from(std::move(*parent), find));
}

DelegationLoad load_of(Database& database, const NewDelegation& wanted) {
  Statement of_caller = database.query(
      "SELECT count(*), coalesce(sum(callee_id = ?2), 0) FROM delegations WHERE caller_id = ?1 AND status IN "
      "('queued', 'dispatched', 'in_progress')",
      wanted.caller_id, wanted.callee_id);
  Statement of_callee = database.query(
      "SELECT count(*) FROM delegations WHERE callee_id = ?1 AND status IN ('queued', 'dispatched', 'in_progress')",
      wanted.callee_id);
  of_caller.step();
  of_callee.step();
  return {of_caller.integer(0), of_caller.integer(1), of_callee.integer(0)};
}

// Stages the files, and appends the task unless its callback is called first or the caller sent it itself.
Result<void> send_task(Database& database, const NewDelegation& wanted, OpenedDelegation& opened, Time now) {
  const WorkspaceId callee = wanted.callee_id;
  auto head = take_living_head(database, callee, now);
  if (!head) return head.error();
  UploadTallies tallies;
  if (!wanted.attachments.empty()) {
    auto files = stage_copies(database, callee, *head, wanted.attachments, wanted.terms, tallies, now);
    if (!files) return files.error();
    opened.files = std::move(*files);
  }
  if (!wanted.recorded && wanted.to_inbox) {
    opened.rows.push_back(
        {callee, deliver_task(database, opened.delegation, *head, wanted.task, wanted.files, wanted.traceparent, now)});
  }
  if (opened.rows.empty() && opened.files.empty()) return {};
  put_head(database, callee, *head, tallies);
  return {};
}

Result<OpenedDelegation> open(Database& database, const NewDelegation& wanted, Time now) {
  if (const auto two = check_parties(wanted); !two) return two.error();
  auto hit = find_hit(database, wanted, now);
  if (!hit) return hit.error();
  if (*hit) return OpenedDelegation{std::move(**hit), true, {}, {}};
  if (const auto ahead = check_deadline(wanted, now); !ahead) return ahead.error();
  const auto retries = retries_of(database, wanted);
  if (!retries) return retries.error();
  const auto depth = depth_of(database, wanted);
  if (!depth) return depth.error();
  if (const auto room = check_load(wanted.limits, load_of(database, wanted)); !room) return room.error();
  OpenedDelegation opened;
  opened.delegation = new_delegation(wanted, *retries, *depth, now);
  if (const auto sent = send_task(database, wanted, opened, now); !sent) return sent.error();
  auto head = take_living_head(database, wanted.caller_id, now);
  if (!head) return head.error();
  opened.rows.push_back({wanted.caller_id, append_row(database, wanted.caller_id, *head, InboxRowId::make(now),
                                                      sent_note(opened.delegation))});
  put_head(database, wanted.caller_id, *head);
  insert_delegation(database, opened.delegation, wanted);
  return opened;
}

Result<DelegationChange> advance(Database& database, WorkspaceId who, const std::string& id,
                                 const DelegationReport& report, Time now) {
  const auto was = find_delegation_row(database, id);
  if (!was || !may_report(*was, who, report)) return errors::delegation_not_found;
  return carry_out(database, *was, transition_by_report(*was, report, now), report, now);
}

Result<DelegationChange> deliver(Database& database, const Delegation& was, Time now) {
  DelegationChange change;
  change.delegation = was;
  if (!waits_for_callback(was)) return change;
  auto head = take_living_head(database, was.callee_id, now);
  if (!head) return head.error();
  std::string task;
  std::string files;
  {
    Statement row = database.query("SELECT task, task_files FROM delegation_texts WHERE delegation_id = ?", was.id);
    if (row.step()) task = row.text(0), files = row.text(1);
  }
  const auto at = deliver_task(database, change.delegation, *head, task, files, "", now);
  put_head(database, was.callee_id, *head);
  database.run("UPDATE delegations SET inbox_seq = ?1 WHERE delegation_id = ?2 AND status = 'queued'", at.seq, was.id);
  change.outcome = DelegationOutcome::changed;
  change.rows.push_back({was.callee_id, at});
  return change;
}

std::vector<Delegation> acked_tasks(Database& database, WorkspaceId callee) {
  static const std::string sql = kSelectDelegations +
                                 "WHERE callee_id = ?1 AND status = 'queued' AND inbox_seq <= (SELECT acked_seq FROM "
                                 "inbox_heads WHERE workspace_id = ?1) ORDER BY inbox_seq";
  return delegations_of(database.query(sql, callee));
}

}  // namespace

Commit<Result<OpenedDelegation>> EmbeddedStore::open_delegation(const NewDelegation& wanted, Time now,
                                                                OptionalClaim<OpenedDelegation> claim) {
  require_uploads();
  return writer_.submit(
      wanted.task.size() * 2 + 1024,
      under_claim(std::move(claim), now, [wanted, now](Database& database) { return open(database, wanted, now); }));
}

Commit<Result<DelegationChange>> EmbeddedStore::advance_delegation(WorkspaceId who, const std::string& id,
                                                                   DelegationReport report, Time now) {
  require_uploads();
  const std::size_t bytes = report.text.size() * 3 + 1024;
  return writer_.submit(bytes, [who, id, report = std::move(report), now](Database& database) {
    return advance(database, who, id, report, now);
  });
}

Commit<Result<DelegationChange>> EmbeddedStore::beat_delegation(WorkspaceId callee, const std::string& id,
                                                                std::optional<std::string> progress, Time now) {
  require_uploads();
  return writer_.submit(
      id.size(), [callee, id, progress = std::move(progress), now](Database& database) -> Result<DelegationChange> {
        const auto was = find_delegation_row(database, id);
        if (!was || was->callee_id != callee) return errors::delegation_not_found;
        return carry_out(database, *was, transition_by_beat(*was, progress, now), {}, now);
      });
}

Commit<Result<DelegationChange>> EmbeddedStore::deliver_delegation(const std::string& id, Time now) {
  require_uploads();
  return writer_.submit(id.size(), [id, now](Database& database) -> Result<DelegationChange> {
    const auto was = find_delegation_row(database, id);
    if (!was) return was.error();
    return deliver(database, *was, now);
  });
}

Commit<Result<std::vector<DelegationChange>>> EmbeddedStore::pick_up_delegations(std::vector<WorkspaceId> callees,
                                                                                 Time now) {
  using Changes = std::vector<DelegationChange>;
  require_uploads();
  if (callees.empty()) return Commit<Result<Changes>>::ready(Changes());
  const std::size_t bytes = callees.size() * sizeof callees.front();
  return writer_.submit(bytes, [callees = std::move(callees), now](Database& database) -> Result<Changes> {
    Changes changes;
    for (const WorkspaceId& callee : callees) {
      for (const Delegation& was : acked_tasks(database, callee)) {
        changes.push_back(carry_out(database, was, transition_by_ack(was, now), {}, now).value());
      }
    }
    return changes;
  });
}

namespace {

// Silent tasks with the time of their last heartbeat. For a task without any: the later of when it was picked up and
// the last sign of life of the receiving agent.
std::vector<std::pair<Delegation, Time>> silent_tasks(Database& database, Time since, std::int64_t limit) {
  static const std::string with_heartbeat = kSelectDelegations + silent_condition('?');
  std::vector<std::pair<Delegation, Time>> silent;
  for (Delegation& one : delegations_of(database.query(with_heartbeat, since, limit))) {
    const Time last_beat = *one.last_heartbeat;
    silent.emplace_back(std::move(one), last_beat);
  }
  Statement row = database.query(kSelectSilent, since, limit - std::ssize(silent));
  while (row.step()) silent.emplace_back(delegation_of(row), row.time(22));
  return silent;
}

void sweep_overdue(Database& database, int limit, Time now, SweptDelegations& swept) {
  static const std::string sql = kSelectDelegations + overdue_condition('?');
  const DelegationReport report = overdue_report();
  for (const Delegation& was : delegations_of(database.query(sql, now, limit))) {
    swept.changes.push_back(carry_out(database, was, transition_by_report(was, report, now), report, now).value());
  }
}

void sweep_silent(Database& database, Time since, int limit, Time now, SweptDelegations& swept) {
  for (const auto& [was, last_sign] : silent_tasks(database, since, limit - std::ssize(swept.changes))) {
    const DelegationReport report = stuck_report(last_sign);
    swept.changes.push_back(carry_out(database, was, transition_by_report(was, report, now), report, now).value());
  }
}

// Skips tasks of a removed workspace: they wait for their deadline.
void sweep_undelivered(Database& database, Time since, int limit, Time now, SweptDelegations& swept) {
  static const std::string sql = kSelectDelegations +
                                 "WHERE status = 'queued' AND inbox_seq IS NULL AND recorded = 0 AND created_at < ?1 "
                                 "AND NOT EXISTS (SELECT 1 FROM workspaces w WHERE w.id = callee_id AND w.status = "
                                 "'removed') ORDER BY created_at LIMIT ?2";
  for (const Delegation& was : delegations_of(database.query(sql, since, limit - std::ssize(swept.changes)))) {
    swept.changes.push_back(deliver(database, was, now).value());
  }
}

}  // namespace

Commit<Result<SweptDelegations>> EmbeddedStore::sweep_delegations(Time silent_since, Time undelivered_since, int limit,
                                                                  Time now) {
  require_uploads();
  limit = std::max(limit, 0);
  return writer_.submit(sizeof now, [=](Database& database) -> Result<SweptDelegations> {
    SweptDelegations swept;
    sweep_overdue(database, limit, now, swept);
    sweep_silent(database, silent_since, limit, now, swept);
    sweep_undelivered(database, undelivered_since, limit, now, swept);
    swept.more = std::ssize(swept.changes) >= limit;
    return swept;
  });
}

}  // namespace restante::sqlite
