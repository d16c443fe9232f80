#include "model/errors.h"
#include "model/inbox_messages.h"
#include "store/delegation_rows.h"
#include "store/postgres/delegations/delegation_rows.h"
#include "store/postgres/shared_store.h"
#include "store/sql/message_files.h"

namespace restante::postgres {
namespace {

// A delegation with the same id or idempotency key, if the caller repeats its request. A key that is no longer reserved
// is taken away from the older delegation.
Result<std::optional<Delegation>> find_hit(Transaction& transaction, const NewDelegation& wanted, Time now) {
  if (auto same = find_delegation_row(transaction.connection(), wanted.id)) {
    if (const auto ours = check_same_id(wanted, *same); !ours) return ours.error();
    return std::optional<Delegation>(std::move(*same));
  }
  if (wanted.idempotency_key.empty()) return std::optional<Delegation>();
  static const std::string sql = kSelectDelegations + "WHERE caller_id = $1 AND idempotency_key = $2";
  auto holders = delegations_of(transaction.connection().query(sql, wanted.caller_id, wanted.idempotency_key));
  if (holders.empty()) return std::optional<Delegation>();
  if (holds_key(holders.front(), now)) return std::optional<Delegation>(std::move(holders.front()));
  transaction.run("UPDATE delegations SET idempotency_key = NULL WHERE delegation_id = $1", holders.front().id);
  return std::optional<Delegation>();
}

Result<std::int64_t> retries_of(Connection& connection, const NewDelegation& wanted) {
  if (wanted.retry_of.empty()) return 0;
  const auto retried = find_delegation_row(connection, wanted.retry_of);
  return retry_number(wanted, retried ? &*retried : nullptr);
}

Result<std::int64_t> depth_of(Connection& connection, const NewDelegation& wanted) {
  if (wanted.parent_id.empty()) return depth_in_chain(wanted, {});
  const auto find = [&](const std::string& id) { return find_delegation_row(connection, id); };
  auto parent = find(wanted.parent_id);
  if (const auto fine = check_parent(wanted, parent ? &*parent : nullptr); !fine) return fine.error();
  return depth_in_chain(wanted, chain_from(std::move(*parent), find));
}

DelegationLoad load_of(Connection& connection, const NewDelegation& wanted) {
  connection.send(
      "SELECT count(*), count(*) FILTER (WHERE callee_id = $2) FROM delegations WHERE caller_id = $1 AND status IN "
      "('queued', 'dispatched', 'in_progress')",
      wanted.caller_id, wanted.callee_id);
  connection.send(
      "SELECT count(*) FROM delegations WHERE callee_id = $1 AND status IN ('queued', 'dispatched', 'in_progress')",
      wanted.callee_id);
  const auto answers = connection.sync();
  const Row of_caller = answers[answers.size() - 2].front();
  return {of_caller.integer(0), of_caller.integer(1), answers.back().front().integer(0)};
}

// Appends the task, unless its callback is called first or the caller sent it itself; stages its files in any case.
Result<void> send_task(Transaction& transaction, const NewDelegation& wanted, OpenedDelegation& opened, Time now) {
  const WorkspaceId callee = wanted.callee_id;
  const auto head = transaction.find_living_head(callee);
  if (!head) return head.error();
  const Time at = Transaction::next_time(**head, now);
  if (!wanted.attachments.empty()) {
    auto files = stage_copies(transaction, callee, wanted.attachments, wanted.terms, at, now);
    if (!files) return files.error();
    opened.files = std::move(*files);
  }
  if (wanted.recorded || !wanted.to_inbox) return {};
  opened.rows.push_back(
      {callee, deliver_task(transaction, opened.delegation, at, wanted.task, wanted.files, wanted.traceparent, now)});
  return {};
}

Result<OpenedDelegation> open(Transaction& transaction, const NewDelegation& wanted, Time now) {
  if (const auto two = check_parties(wanted); !two) return two.error();
  auto hit = find_hit(transaction, wanted, now);
  if (!hit) return hit.error();
  if (*hit) return OpenedDelegation{std::move(**hit), true, {}, {}};
  if (const auto ahead = check_deadline(wanted, now); !ahead) return ahead.error();
  const auto retries = retries_of(transaction.connection(), wanted);
  if (!retries) return retries.error();
  const auto depth = depth_of(transaction.connection(), wanted);
  if (!depth) return depth.error();
  const auto room = check_load(wanted.limits, load_of(transaction.connection(), wanted));
  if (!room) return room.error();
  OpenedDelegation opened;
  opened.delegation = new_delegation(wanted, *retries, *depth, now);
  if (const auto sent = send_task(transaction, wanted, opened, now); !sent) return sent.error();
  const auto head = transaction.find_living_head(wanted.caller_id);
  if (!head) return head.error();
  opened.rows.push_back({wanted.caller_id, transaction.append(wanted.caller_id, Transaction::next_time(**head, now),
                                                              InboxRowId::make(now), sent_note(opened.delegation))});
  insert_delegation(transaction, opened.delegation, wanted);
  return opened;
}

WriteHints hints_of(const NewDelegation& wanted) {
  WriteHints hints{.heads = {wanted.caller_id, wanted.callee_id}};
  for (const OutgoingFile& file : wanted.attachments) {
    hints.heads.push_back(file.owner);
    hints.uploads.push_back(file.source);
  }
  return hints;
}

Result<DelegationChange> deliver(Transaction& transaction, const Delegation& was, Time now) {
  DelegationChange change;
  change.delegation = was;
  if (!waits_for_callback(was)) return change;
  const auto head = transaction.find_living_head(was.callee_id);
  if (!head) return head.error();
  const auto texts =
      transaction.connection().query("SELECT task, task_files FROM delegation_texts WHERE delegation_id = $1", was.id);
  const Time time = Transaction::next_time(**head, now);
  const auto at =
      deliver_task(transaction, change.delegation, time, texts.front().text(0), texts.front().text(1), "", now);
  transaction.run("UPDATE delegations SET inbox_seq = $1 WHERE delegation_id = $2 AND status = 'queued'", at.seq,
                  was.id);
  change.outcome = DelegationOutcome::changed;
  change.rows.push_back({was.callee_id, at});
  return change;
}

std::vector<Delegation> acked_tasks(Transaction& transaction, const std::vector<WorkspaceId>& callees) {
  static const std::string sql = kSelectDelegations +
                                 "d WHERE status = 'queued' AND callee_id = ANY($1) AND inbox_seq <= (SELECT acked_seq "
                                 "FROM inbox_heads h WHERE h.workspace_id = d.callee_id) ORDER BY callee_id, inbox_seq";
  Array ids(Type::uuid);
  for (const WorkspaceId& callee : callees) ids.add(callee);
  return delegations_of(transaction.connection().query(sql, ids));
}

}  // namespace

std::optional<Delegation> SharedStore::look_up_delegation(const std::string& id) {
  require_uploads();
  auto found = pool_.use([&](Connection& connection) { return find_delegation_row(connection, id); });
  if (!found) return std::nullopt;
  return std::move(*found);
}

Commit<Result<OpenedDelegation>> SharedStore::open_delegation(const NewDelegation& wanted, Time now,
                                                              OptionalClaim<OpenedDelegation> claim) {
  require_uploads();
  WriteHints hints = hints_of(wanted);
  hints.claim = scope_of(claim);
  return lane_of(wanted.callee_id)
      .submit(std::move(hints), wanted.task.size() * 2 + 1024,
              under_claim(std::move(claim), now,
                          [wanted, now](Transaction& transaction) { return open(transaction, wanted, now); }));
}

Commit<Result<DelegationChange>> SharedStore::advance_delegation(WorkspaceId who, const std::string& id,
                                                                 DelegationReport report, Time now) {
  const auto known = look_up_delegation(id);
  if (!known || !may_report(*known, who, report)) {
    return Commit<Result<DelegationChange>>::ready(errors::delegation_not_found);
  }
  WriteHints hints{.heads = {known->caller_id, known->callee_id}};
  for (const OutgoingFile& file : report.attachments) {
    hints.heads.push_back(file.owner);
    hints.uploads.push_back(file.source);
  }
  const std::size_t bytes = report.text.size() * 3 + 1024;
  return lane_of(known->callee_id)
      .submit(std::move(hints), bytes,
              [id, report = std::move(report), now](Transaction& transaction) -> Result<DelegationChange> {
                const auto was = find_delegation_row(transaction.connection(), id);
                if (!was) return was.error();
                return carry_out(transaction, *was, transition_by_report(*was, report, now), report, now);
              });
}

Commit<Result<DelegationChange>> SharedStore::beat_delegation(WorkspaceId callee, const std::string& id,
                                                              std::optional<std::string> progress, Time now) {
  require_uploads();
  return lane_of(callee).submit(
      {.heads = {callee}}, id.size(),
      [callee, id, progress = std::move(progress), now](Transaction& transaction) -> Result<DelegationChange> {
        const auto was = find_delegation_row(transaction.connection(), id);
        if (!was || was->callee_id != callee) return errors::delegation_not_found;
        return carry_out(transaction, *was, transition_by_beat(*was, progress, now), {}, now);
      });
}

Commit<Result<DelegationChange>> SharedStore::deliver_delegation(const std::string& id, Time now) {
  const auto known = look_up_delegation(id);
  if (!known) return Commit<Result<DelegationChange>>::ready(errors::delegation_not_found);
  return lane_of(known->callee_id)
      .submit({.heads = {known->callee_id}}, id.size(),
              [id, now](Transaction& transaction) -> Result<DelegationChange> {
                const auto was = find_delegation_row(transaction.connection(), id);
                if (!was) return was.error();
                return deliver(transaction, *was, now);
              });
}

Commit<Result<std::vector<DelegationChange>>> SharedStore::pick_up_delegations(std::vector<WorkspaceId> callees,
                                                                               Time now) {
  using Changes = std::vector<DelegationChange>;
  require_uploads();
  if (callees.empty()) return Commit<Result<Changes>>::ready(Changes());
  WriteHints hints{.heads = callees, .alone = true};
  const std::size_t bytes = callees.size() * sizeof callees.front();
  return maintenance_lane_.submit(
      std::move(hints), bytes, [callees = std::move(callees), now](Transaction& transaction) -> Result<Changes> {
        Changes changes;
        for (const Delegation& was : acked_tasks(transaction, callees)) {
          changes.push_back(carry_out(transaction, was, transition_by_ack(was, now), {}, now).value());
        }
        return changes;
      });
}

namespace {

const std::string kOverdue = overdue_condition('$');
const std::string kSilent = silent_condition('$');
// A task for a removed receiving agent waits for its deadline.
const std::string kUndelivered =
    "WHERE status = 'queued' AND inbox_seq IS NULL AND recorded = 0 AND created_at < $1 AND NOT EXISTS (SELECT 1 FROM "
    "workspaces w WHERE w.id = callee_id AND w.status = 'removed') ORDER BY created_at LIMIT $2";

struct Due {
  std::vector<std::string> overdue;
  std::vector<std::string> silent;
  std::vector<std::string> without_heartbeat;
  std::vector<std::string> undelivered;
  std::set<WorkspaceId> parties;
};

Due find_due(Transaction& transaction, Time silent_since, Time undelivered_since, std::int64_t limit, Time now) {
  Due due;
  const auto look = [&](const std::string& condition, Time moment, std::vector<std::string>& into) {
    for (const Row row : transaction.connection().query(
             "SELECT delegation_id, caller_id, callee_id FROM delegations " + condition, moment, limit)) {
      into.push_back(row.text(0));
      due.parties.insert(row.id<WorkspaceId>(1));
      due.parties.insert(row.id<WorkspaceId>(2));
      --limit;
    }
  };
  look(kOverdue, now, due.overdue);
  look(kSilent, silent_since, due.silent);
  look(kSilentCondition, silent_since, due.without_heartbeat);
  look(kUndelivered, undelivered_since, due.undelivered);
  return due;
}

Time last_sign(Connection& connection, const Delegation& of) {
  const auto found =
      connection.query("SELECT greatest(last_heartbeat_at, last_poll_at) FROM workspaces WHERE id = $1", of.callee_id);
  return std::max(of.updated_at, found.front().optional_time(0).value_or(of.updated_at));
}

// Due delegations are found first, then the heads of both sides are locked, then each is read again: a sweep of another
// server, an answer or a heartbeat may have come first.
Result<SweptDelegations> sweep(Transaction& transaction, Time silent_since, Time undelivered_since, std::int64_t limit,
                               Time now) {
  const Due due = find_due(transaction, silent_since, undelivered_since, limit, now);
  SweptDelegations swept;
  swept.more = std::ssize(due.overdue) + std::ssize(due.silent) + std::ssize(due.without_heartbeat) +
                   std::ssize(due.undelivered) >=
               limit;
  if (due.parties.empty()) return swept;
  transaction.lock({due.parties.begin(), due.parties.end()});
  const auto end = [&](const Delegation& was, const DelegationReport& report) {
    swept.changes.push_back(carry_out(transaction, was, transition_by_report(was, report, now), report, now).value());
  };
  const auto each = [&](const std::vector<std::string>& ids, const auto& act) {
    for (const std::string& id : ids) {
      const auto was = find_delegation_row(transaction.connection(), id);
      if (was && was->in_flight()) act(*was);
    }
  };
  each(due.overdue, [&](const Delegation& was) {
    if (was.deadline <= now) end(was, overdue_report());
  });
  each(due.silent, [&](const Delegation& was) {
    if (was.last_heartbeat && *was.last_heartbeat < silent_since) end(was, stuck_report(*was.last_heartbeat));
  });
  each(due.without_heartbeat, [&](const Delegation& was) {
    if (was.last_heartbeat || was.status == DelegationStatus::queued) return;
    const Time last_seen = last_sign(transaction.connection(), was);
    if (last_seen < silent_since) end(was, stuck_report(last_seen));
  });
  each(due.undelivered, [&](const Delegation& was) {
    auto delivered = deliver(transaction, was, now);
    if (delivered && delivered->outcome == DelegationOutcome::changed) {
      swept.changes.push_back(std::move(*delivered));
    }
  });
  return swept;
}

}  // namespace

Commit<Result<SweptDelegations>> SharedStore::sweep_delegations(Time silent_since, Time undelivered_since, int limit,
                                                                Time now) {
  require_uploads();
  limit = std::max(limit, 0);
  return maintenance_lane_.submit({.alone = true}, sizeof now, [=](Transaction& transaction) {
    return sweep(transaction, silent_since, undelivered_since, limit, now);
  });
}

}  // namespace restante::postgres
