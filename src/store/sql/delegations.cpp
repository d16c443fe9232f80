#include "store/delegations.h"

#include <algorithm>
#include <set>

#include "model/errors.h"
#include "model/inbox_messages.h"
#include "store/sql/delegation_rows.h"
#include "store/sql/store.h"

namespace restante {
namespace {

// A delegation with the same id or idempotency key, if the caller repeats its request. A key that is no longer reserved
// is taken away from the older delegation.
Result<std::optional<Delegation>> find_hit(SqlTransaction& transaction, const NewDelegation& wanted, Time now) {
  if (auto same = find_delegation_row(transaction, wanted.id)) {
    if (const auto ours = check_same_id(wanted, *same); !ours) return ours.error();
    return std::optional<Delegation>(std::move(*same));
  }
  if (wanted.idempotency_key.empty()) return std::optional<Delegation>();
  static const std::string sql = kSelectDelegations + "WHERE caller_id = $1 AND idempotency_key = $2";
  auto holder = transaction.find(delegation_of, sql, wanted.caller_id, wanted.idempotency_key);
  if (!holder || holds_key(*holder, now)) return holder;
  transaction.run("UPDATE delegations SET idempotency_key = NULL WHERE delegation_id = $1", holder->id);
  return std::optional<Delegation>();
}

Result<std::int64_t> retries_of(SqlReader& reader, const NewDelegation& wanted) {
  if (wanted.retry_of.empty()) return 0;
  const auto retried = find_delegation_row(reader, wanted.retry_of);
  return retry_number(wanted, retried ? &*retried : nullptr);
}

Result<std::int64_t> depth_of(SqlReader& reader, const NewDelegation& wanted) {
  if (wanted.parent_id.empty()) return depth_in_chain(wanted, {});
  auto parent = find_delegation_row(reader, wanted.parent_id);
  if (const auto fine = check_parent(wanted, parent ? &*parent : nullptr); !fine) return fine.error();
  std::vector<Delegation> chain{std::move(*parent)};
  for (std::string id = next_in_chain(wanted, chain); !id.empty(); id = next_in_chain(wanted, chain)) {
    auto above = find_delegation_row(reader, id);
    if (!above || !is_ancestor(*above, chain.back())) break;
    chain.push_back(std::move(*above));
  }
  return depth_in_chain(wanted, chain);
}

// One statement: one round trip.
DelegationLoad load_of(SqlReader& reader, const NewDelegation& wanted) {
  return reader
      .find([](const SqlRow& row) { return DelegationLoad{row.integer(0), row.integer(1), row.integer(2)}; },
            "SELECT count(*), count(*) FILTER (WHERE callee_id = $2), (SELECT count(*) FROM delegations WHERE "
            "callee_id = $2 AND status IN ('queued', 'dispatched', 'in_progress')) FROM delegations WHERE caller_id = "
            "$1 AND status IN ('queued', 'dispatched', 'in_progress')",
            wanted.caller_id, wanted.callee_id)
      .value();
}

// Appends the task, unless its callback is called first or the caller sent it itself; stages its files in any case.
Result<void> send_task(SqlTransaction& transaction, const NewDelegation& wanted, OpenedDelegation& opened, Time now) {
  const WorkspaceId callee = wanted.callee_id;
  const auto head = transaction.find_living_head(callee);
  if (!head) return head.error();
  const Time at = SqlTransaction::next_time(**head, now);
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

Result<OpenedDelegation> open(SqlTransaction& transaction, const NewDelegation& wanted, Time now) {
  if (const auto two = check_parties(wanted); !two) return two.error();
  auto hit = find_hit(transaction, wanted, now);
  if (!hit) return hit.error();
  if (*hit) return OpenedDelegation{std::move(**hit), true, {}, {}};
  if (const auto ahead = check_deadline(wanted, now); !ahead) return ahead.error();
  const auto retries = retries_of(transaction, wanted);
  if (!retries) return retries.error();
  const auto depth = depth_of(transaction, wanted);
  if (!depth) return depth.error();
  if (const auto room = check_load(wanted.limits, load_of(transaction, wanted)); !room) return room.error();
  OpenedDelegation opened;
  opened.delegation = new_delegation(wanted, *retries, *depth, now);
  if (const auto sent = send_task(transaction, wanted, opened, now); !sent) return sent.error();
  const auto head = transaction.find_living_head(wanted.caller_id);
  if (!head) return head.error();
  opened.rows.push_back({wanted.caller_id, transaction.append(wanted.caller_id, SqlTransaction::next_time(**head, now),
                                                              InboxRowId::make(now), sent_note(opened.delegation))});
  insert_delegation(transaction, opened.delegation, wanted);
  return opened;
}

Result<DelegationChange> deliver(SqlTransaction& transaction, const Delegation& was, Time now) {
  DelegationChange change;
  change.delegation = was;
  if (!waits_for_callback(was)) return change;
  const auto head = transaction.find_living_head(was.callee_id);
  if (!head) return head.error();
  const Time time = SqlTransaction::next_time(**head, now);
  const auto [task, files] = transaction
                                 .find([](const SqlRow& row) { return std::pair(row.text(0), row.text(1)); },
                                       "SELECT task, task_files FROM delegation_texts WHERE delegation_id = $1", was.id)
                                 .value();
  const auto at = deliver_task(transaction, change.delegation, time, task, files, "", now);
  transaction.run("UPDATE delegations SET inbox_seq = $1 WHERE delegation_id = $2 AND status = 'queued'", at.seq,
                  was.id);
  change.outcome = DelegationOutcome::changed;
  change.rows.push_back({was.callee_id, at});
  return change;
}

WriteHints hints_between(WorkspaceId caller, WorkspaceId callee, const std::vector<OutgoingFile>& files) {
  WriteHints hints{.lane = callee.uuid(), .heads = {caller, callee}};
  for (const OutgoingFile& file : files) {
    hints.heads.push_back(file.owner);
    hints.uploads.push_back(file.source);
  }
  return hints;
}

}  // namespace

Commit<Result<OpenedDelegation>> SqlStore::open_delegation(const NewDelegation& wanted, Time now,
                                                           OptionalClaim<OpenedDelegation> claim) {
  require_uploads();
  WriteHints hints = hints_between(wanted.caller_id, wanted.callee_id, wanted.attachments);
  hints.claim = scope_of(claim);
  return write(std::move(hints), wanted.task.size() * 2 + 1024,
               under_claim(std::move(claim), now,
                           [wanted, now](SqlTransaction& transaction) { return open(transaction, wanted, now); }));
}

// Caller and receiving agent are read first, because their heads must be locked before the row is. They never change.
Commit<Result<DelegationChange>> SqlStore::advance_delegation(WorkspaceId who, const std::string& id,
                                                              DelegationReport report, Time now) {
  const auto known = find_delegation(id);
  if (!known || !may_report(*known, who, report)) {
    return Commit<Result<DelegationChange>>::ready(errors::delegation_not_found);
  }
  WriteHints hints = hints_between(known->caller_id, known->callee_id, report.attachments);
  const std::size_t bytes = report.text.size() * 3 + 1024;
  return write(std::move(hints), bytes,
               [id, report = std::move(report), now](SqlTransaction& transaction) -> Result<DelegationChange> {
                 const auto was = find_delegation_row(transaction, id);
                 if (!was) return was.error();
                 return carry_out(transaction, *was, transition_by_report(*was, report, now), report, now);
               });
}

Commit<Result<DelegationChange>> SqlStore::beat_delegation(WorkspaceId callee, const std::string& id,
                                                           std::optional<std::string> progress, Time now) {
  require_uploads();
  return write(
      hints_for(callee), id.size(),
      [callee, id, progress = std::move(progress), now](SqlTransaction& transaction) -> Result<DelegationChange> {
        const auto was = find_delegation_row(transaction, id);
        if (!was || was->callee_id != callee) return errors::delegation_not_found;
        return carry_out(transaction, *was, transition_by_beat(*was, progress, now), {}, now);
      });
}

Commit<Result<DelegationChange>> SqlStore::deliver_delegation(const std::string& id, Time now) {
  const auto known = find_delegation(id);
  if (!known) return Commit<Result<DelegationChange>>::ready(known.error());
  return write(hints_for(known->callee_id), id.size(),
               [id, now](SqlTransaction& transaction) -> Result<DelegationChange> {
                 const auto was = find_delegation_row(transaction, id);
                 if (!was) return was.error();
                 return deliver(transaction, *was, now);
               });
}

Commit<Result<std::vector<DelegationChange>>> SqlStore::pick_up_delegations(std::vector<WorkspaceId> callees,
                                                                            Time now) {
  using Changes = std::vector<DelegationChange>;
  require_uploads();
  if (callees.empty()) return Commit<Result<Changes>>::ready(Changes());
  std::ranges::sort(callees);
  callees.erase(std::ranges::unique(callees).begin(), callees.end());
  const std::size_t bytes = callees.size() * sizeof callees.front();
  WriteHints hints{.heads = callees, .alone = true};
  return write(std::move(hints), bytes,
               [callees = std::move(callees), now](SqlTransaction& transaction) -> Result<Changes> {
                 static const std::string sql = kSelectDelegations +
                                                "WHERE callee_id = $1 AND status = 'queued' AND inbox_seq <= (SELECT "
                                                "acked_seq FROM inbox_heads WHERE workspace_id = $1) ORDER BY "
                                                "inbox_seq";
                 std::vector<Delegation> acked;
                 const auto keep = [&](WorkspaceId, const SqlRow& row) { acked.push_back(delegation_of(row)); };
                 transaction.each_of(callees, keep, sql);
                 Changes changes;
                 for (const Delegation& was : acked) {
                   changes.push_back(carry_out(transaction, was, transition_by_ack(was, now), {}, now).value());
                 }
                 return changes;
               });
}

namespace {

struct Due {
  std::vector<std::string> overdue;
  std::vector<std::string> silent;
  std::vector<std::string> without_heartbeat;
  std::vector<std::string> undelivered;
  std::set<WorkspaceId> parties;
};

Due find_due(SqlReader& reader, Time silent_since, Time undelivered_since, std::int64_t limit, Time now) {
  Due due;
  const auto look = [&](const char* condition, Time moment, std::vector<std::string>& into) {
    const auto keep = [&](const SqlRow& row) {
      into.push_back(row.text(0));
      due.parties.insert({row.id<WorkspaceId>(1), row.id<WorkspaceId>(2)});
      return true;
    };
    const std::string sql = std::string("SELECT delegation_id, caller_id, callee_id FROM delegations ") + condition;
    reader.each(keep, sql, moment, limit);
    limit -= std::ssize(into);
  };
  look(kOverdueCondition, now, due.overdue);
  look(kOldHeartbeatCondition, silent_since, due.silent);
  look(kSilentCondition, silent_since, due.without_heartbeat);
  look(kUndeliveredCondition, undelivered_since, due.undelivered);
  return due;
}

// Of a task without a heartbeat: when it was picked up, or its receiving agent was last seen.
Time last_sign(SqlReader& reader, const Delegation& of) {
  const auto seen = reader.find([](const SqlRow& row) { return std::max(row.optional_time(0), row.optional_time(1)); },
                                "SELECT last_heartbeat_at, last_poll_at FROM workspaces WHERE id = $1", of.callee_id);
  return std::max(of.updated_at, seen.value().value_or(of.updated_at));
}

// Due delegations are found first, then the heads of both sides are locked, then each is read again: a sweep of another
// server, an answer or a heartbeat may have come first.
Result<SweptDelegations> sweep(SqlTransaction& transaction, Time silent_since, Time undelivered_since,
                               std::int64_t limit, Time now) {
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
      const auto was = find_delegation_row(transaction, id);
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
    const Time last_seen = last_sign(transaction, was);
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

Commit<Result<SweptDelegations>> SqlStore::sweep_delegations(Time silent_since, Time undelivered_since, int limit,
                                                             Time now) {
  require_uploads();
  limit = std::max(limit, 0);
  return write(maintenance_hints(), sizeof now, [=](SqlTransaction& transaction) {
    return sweep(transaction, silent_since, undelivered_since, limit, now);
  });
}

}  // namespace restante
