// The plain model of delegations. The form of inbox rows is taken from the code under test; when there is one, and what
// becomes of the delegation, is decided here again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/inbox_messages.h"
#include "plain_model.h"

namespace restante::testing {
namespace {

using Status = DelegationStatus;

std::string show(std::optional<Time> time) { return time ? format_time(*time) : "-"; }

std::string answer(const Delegation& delegation, DelegationOutcome outcome, std::size_t rows, std::size_t files) {
  return fmt::format("{} {} rows {} files {}", restante::testing::show(delegation), static_cast<int>(outcome), rows,
                     files);
}

std::string prefix(const std::string& text, std::size_t bytes) { return text.substr(0, bytes); }

}  // namespace

std::string show(const Delegation& d) {
  return fmt::format(
      "{} {}>{} {} {} hb {} dl {} res {} err {} retry {} {} key {} {} {} rec {} seq {} prog {} {} fin {} "
      "par {} {} late {}",
      d.id, d.caller_id.text(), d.callee_id.text(), d.task_preview, name_of(d.status), show(d.last_heartbeat),
      format_time(d.deadline), d.result_preview, d.error_detail, d.retry_count, d.retry_of, d.idempotency_key,
      format_time(d.created_at), format_time(d.updated_at), d.recorded, d.inbox_seq.value_or(-1), d.progress,
      show(d.progress_at), show(d.finished_at), d.parent_id, d.depth, show(d.late_at));
}

std::string show(const DelegationRecord& r) {
  std::string out = fmt::format("{} | {} {} | {} {} | {} {}", show(r.delegation), r.task, r.task_files, r.result,
                                r.result_files, r.late_answer, r.late_files);
  for (const auto& step : r.history) {
    out += fmt::format("\n  {} {} {} {} {}", format_time(step.at), name_of(step.status), name_of(step.by), step.late,
                       step.note);
  }
  return out;
}

std::string show(const OpenedDelegation& opened) {
  return fmt::format("{} {} rows {} files {}", show(opened.delegation), opened.hit, opened.rows.size(),
                     opened.files.size());
}

std::string show(const DelegationChange& change) {
  return answer(change.delegation, change.outcome, change.rows.size(), change.files.size());
}

// The order among those that are due together is the store's.
std::string show(const SweptDelegations& swept) {
  std::vector<std::string> all;
  for (const auto& change : swept.changes) all.push_back(show(change));
  std::ranges::sort(all);
  return fmt::format("{}", fmt::join(all, "\n"));
}

void PlainModel::ack_inbox(WorkspaceId workspace, std::int64_t seq) {
  auto& acked = acked_seqs[workspace];
  acked = std::max(acked, std::min(seq, static_cast<std::int64_t>(inboxes[workspace].size())));
}

std::pair<std::string, std::int64_t> PlainModel::bring(WorkspaceId to, const std::vector<OutgoingFile>& files,
                                                       StagingTerms terms, Time now) {
  terms.direction = UploadDirection::in;
  std::vector<NewUpload> copies;
  for (const auto& file : files) {
    const auto* source = own(file.owner, file.source);
    if (!source || source->damage || source->state(now) == UploadState::expired) return {"attachment_gone", 0};
    const bool usable = file.sent_by ? source->source_id == file.sent_by : source->direction == UploadDirection::out;
    if (!usable) return {"attachment_gone", 0};
    copies.push_back(*source);
    copies.back().id = file.id;
    copies.back().source_id = file.sent_by ? *file.sent_by : file.owner;
  }
  const auto before = uploads.size();
  const auto staged = stage(to, copies, terms, now, {});
  if (!copies.empty() && uploads.size() == before) return {staged, 0};
  return {"", std::ssize(copies)};
}

std::string PlainModel::put_into_inbox(DelegationRecord& record, Time now) {
  const Delegation& task = record.delegation;
  push(task.callee_id, task_message(task, record.task, record.task_files, ""), {}, now);
  record.delegation.inbox_seq = inboxes[task.callee_id].back().seq;
  return "";
}

std::string PlainModel::open(const NewDelegation& wanted, Time now) {
  if (wanted.caller_id == wanted.callee_id) return "bad_field";
  const auto hit = [](const Delegation& d) { return fmt::format("{} true rows 0 files 0", show(d)); };
  if (const auto same = delegations.find(wanted.id); same != delegations.end()) {
    if (same->second.delegation.caller_id != wanted.caller_id) return "delegation_id_taken";
    return hit(same->second.delegation);
  }
  std::string freed;
  for (auto& [id, one] : delegations) {
    const Delegation& d = one.delegation;
    if (wanted.idempotency_key.empty() || d.caller_id != wanted.caller_id ||
        d.idempotency_key != wanted.idempotency_key) {
      continue;
    }
    const bool old = d.status == Status::completed && now >= *d.finished_at + std::chrono::hours(24);
    if (!old) return hit(d);
    freed = id;
  }
  if (wanted.deadline <= now) return "bad_field";
  DelegationRecord made;
  Delegation& d = made.delegation;
  if (!wanted.retry_of.empty()) {
    const auto old = delegations.find(wanted.retry_of);
    if (old == delegations.end() || old->second.delegation.caller_id != wanted.caller_id) return "delegation_not_found";
    if (!is_final(old->second.delegation.status)) return "delegation_in_flight";
    d.retry_count = old->second.delegation.retry_count + 1;
  }
  for (std::string above = wanted.parent_id; !above.empty();) {
    const auto found = delegations.find(above);
    const bool first = d.depth == 1;
    if (first && (found == delegations.end() || found->second.delegation.callee_id != wanted.caller_id)) {
      return "delegation_not_found";
    }
    if (first && is_final(found->second.delegation.status)) return "delegation_ended";
    ++d.depth;
    above = found->second.delegation.parent_id;
  }
  if (wanted.limits.depth > 0 && d.depth > wanted.limits.depth) return "delegation_too_deep";
  for (std::string above = wanted.parent_id; !above.empty(); above = delegations.at(above).delegation.parent_id) {
    const Delegation& one = delegations.at(above).delegation;
    if (one.caller_id == wanted.callee_id || one.callee_id == wanted.callee_id) return "delegation_cycle";
  }
  std::int64_t of_caller = 0, of_pair = 0, of_callee = 0;
  for (const auto& [id, one] : delegations) {
    if (is_final(one.delegation.status)) continue;
    const bool by_caller = one.delegation.caller_id == wanted.caller_id;
    const bool to_callee = one.delegation.callee_id == wanted.callee_id;
    of_caller += by_caller, of_callee += to_callee, of_pair += by_caller && to_callee;
  }
  const auto& limits = wanted.limits;
  if ((limits.per_caller > 0 && of_caller >= limits.per_caller) ||
      (limits.per_pair > 0 && of_pair >= limits.per_pair) ||
      (limits.per_callee > 0 && of_callee >= limits.per_callee)) {
    return "too_many_delegations";
  }
  if (auto error = living(wanted.callee_id); !error.empty()) return error;
  const auto [error, files] = workspaces.contains(wanted.caller_id)
                                  ? bring(wanted.callee_id, wanted.attachments, wanted.terms, now)
                                  : std::pair(living(wanted.caller_id), std::int64_t{0});
  if (!error.empty()) return error;
  d.id = wanted.id;
  d.caller_id = wanted.caller_id;
  d.callee_id = wanted.callee_id;
  d.task_preview = prefix(wanted.task, 4096);
  d.deadline = wanted.deadline;
  d.idempotency_key = wanted.idempotency_key;
  d.created_at = d.updated_at = now;
  d.recorded = wanted.recorded;
  d.retry_of = wanted.retry_of;
  d.parent_id = wanted.parent_id;
  made.task = wanted.task;
  made.task_files = wanted.files;
  made.history.push_back({now, Status::queued, DelegationActor::caller, false, wanted.recorded ? "recorded" : ""});
  const bool sends = !wanted.recorded && wanted.to_inbox;
  if (sends) put_into_inbox(made, now);
  push(wanted.caller_id, sent_note(d), {}, now);
  if (!freed.empty()) delegations.at(freed).delegation.idempotency_key.clear();
  delegations[d.id] = made;
  return fmt::format("{} false rows {} files {}", show(d), sends ? 2 : 1, files);
}

std::string PlainModel::end(DelegationRecord& record, const DelegationReport& report, Time now) {
  Delegation& d = record.delegation;
  const bool late = is_final(d.status);
  const auto row = *transition_by_report(d, report, now).to_caller;
  const auto [error, files] = bring(d.caller_id, report.attachments, report.terms, now);
  if (!error.empty()) return error;
  push(d.caller_id, row, {}, now);
  if (late) {
    d.late_at = now;
    record.late_answer = report.text;
    record.late_files = report.files;
    record.history.push_back({now, report.status, report.by, true, ""});
    return answer(d, DelegationOutcome::late, 1, static_cast<std::size_t>(files));
  }
  const bool good = report.status == Status::completed;
  d.status = report.status;
  d.updated_at = std::max(d.updated_at, now);
  d.finished_at = now;
  const bool is_sign_of_life =
      report.by == DelegationActor::callee || (report.by == DelegationActor::caller && d.recorded);
  if (is_sign_of_life) d.last_heartbeat = std::max(now, d.last_heartbeat.value_or(now));
  (good ? d.result_preview : d.error_detail) = prefix(report.text, 4096);
  if (!good) d.idempotency_key.clear();
  record.result = report.text;
  record.result_files = report.files;
  record.history.push_back({now, report.status, report.by, false, good ? "" : prefix(report.text, 200)});
  return answer(d, DelegationOutcome::changed, 1, static_cast<std::size_t>(files));
}

std::string PlainModel::advance(WorkspaceId who, const std::string& id, const DelegationReport& report, Time now) {
  const auto found = delegations.find(id);
  if (found == delegations.end()) return "delegation_not_found";
  DelegationRecord& record = found->second;
  Delegation& d = record.delegation;
  const bool by_callee = report.by == DelegationActor::callee;
  if (report.by != DelegationActor::platform && who != (by_callee ? d.callee_id : d.caller_id)) {
    return "delegation_not_found";
  }
  const bool is_sign_of_life = by_callee || (report.by == DelegationActor::caller && d.recorded);
  const auto record_sign = [&] {
    if (!is_sign_of_life) return;
    d.last_heartbeat = std::max(now, d.last_heartbeat.value_or(now));
    if (!report.text.empty()) d.progress = prefix(report.text, 1000), d.progress_at = now;
  };
  if (report.status == d.status) {
    if (!is_final(d.status)) record_sign();
    return answer(d, DelegationOutcome::repeated, 0, 0);
  }
  if (is_final(d.status)) {
    if (!is_final(report.status) || !by_callee || d.late_at) return answer(d, DelegationOutcome::refused, 0, 0);
    return end(record, report, now);
  }
  if (is_final(report.status)) {
    if (report.status == Status::stuck && d.status == Status::queued) {
      return answer(d, DelegationOutcome::refused, 0, 0);
    }
    return end(record, report, now);
  }
  // The remaining case: work begins.
  push(d.caller_id, *transition_by_report(d, report, now).to_caller, {}, now);
  d.status = report.status;
  d.updated_at = std::max(d.updated_at, now);
  record_sign();
  record.history.push_back({now, report.status, report.by, false, ""});
  return answer(d, DelegationOutcome::changed, 1, 0);
}

std::string PlainModel::dispatch(DelegationRecord& record, Time now) {
  Delegation& d = record.delegation;
  push(d.callee_id, *transition_by_ack(d, now).to_callee, {}, now);
  d.status = Status::dispatched;
  d.updated_at = std::max(d.updated_at, now);
  record.history.push_back({now, Status::dispatched, DelegationActor::callee, false, ""});
  return answer(d, DelegationOutcome::changed, 1, 0);
}

std::string PlainModel::beat(WorkspaceId callee, const std::string& id, const std::optional<std::string>& progress,
                             Time now) {
  const auto found = delegations.find(id);
  if (found == delegations.end() || found->second.delegation.callee_id != callee) return "delegation_not_found";
  Delegation& d = found->second.delegation;
  if (is_final(d.status)) return answer(d, DelegationOutcome::repeated, 0, 0);
  const bool fresh = d.status == Status::queued;
  if (fresh) dispatch(found->second, now);
  d.last_heartbeat = std::max(now, d.last_heartbeat.value_or(now));
  if (progress && !progress->empty()) d.progress = *progress, d.progress_at = now;
  return answer(d, fresh ? DelegationOutcome::changed : DelegationOutcome::repeated, fresh ? 1 : 0, 0);
}

std::string PlainModel::deliver(const std::string& id, Time now) {
  const auto found = delegations.find(id);
  if (found == delegations.end()) return "delegation_not_found";
  Delegation& d = found->second.delegation;
  if (d.status != Status::queued || d.inbox_seq || d.recorded) return answer(d, DelegationOutcome::repeated, 0, 0);
  put_into_inbox(found->second, now);
  return answer(d, DelegationOutcome::changed, 1, 0);
}

std::string PlainModel::pick_up(const std::vector<WorkspaceId>& callees, Time now) {
  // In the order of the inbox, which is the order in which they were opened.
  std::vector<DelegationRecord*> passed;
  for (auto& [id, record] : delegations) {
    const Delegation& d = record.delegation;
    const bool named = std::ranges::find(callees, d.callee_id) != callees.end();
    if (named && d.status == Status::queued && d.inbox_seq && *d.inbox_seq <= acked_seqs[d.callee_id]) {
      passed.push_back(&record);
    }
  }
  std::ranges::sort(passed, {}, [](const DelegationRecord* r) { return *r->delegation.inbox_seq; });
  std::vector<std::string> all;
  for (auto* record : passed) all.push_back(dispatch(*record, now));
  std::ranges::sort(all);
  return fmt::format("{}", fmt::join(all, "\n"));
}

std::string PlainModel::sweep_delegations(Time silent_since, Time undelivered_since, Time now,
                                          const SweptDelegations& answered) {
  // The report for those that are due; none: the task goes to the inbox.
  std::map<std::string, std::optional<DelegationReport>> due;
  for (auto& [id, record] : delegations) {
    const Delegation& d = record.delegation;
    if (is_final(d.status)) continue;
    if (d.deadline <= now) {
      due[id] = overdue_report();
    } else if (d.status == Status::queued) {
      if (!d.inbox_seq && !d.recorded && d.created_at < undelivered_since) due[id] = std::nullopt;
    } else if (d.last_heartbeat) {
      if (*d.last_heartbeat < silent_since) due[id] = stuck_report(*d.last_heartbeat);
    } else {
      const Workspace& callee = workspaces.at(d.callee_id);
      Time seen = d.updated_at;
      if (callee.last_heartbeat_at) seen = std::max(seen, *callee.last_heartbeat_at);
      if (callee.last_poll_at) seen = std::max(seen, *callee.last_poll_at);
      if (seen < silent_since) due[id] = stuck_report(seen);
    }
  }
  std::vector<std::string> all;
  const auto act = [&](const std::string& id) {
    const auto found = due.find(id);
    if (found == due.end()) return;
    const auto report = found->second;
    due.erase(found);
    DelegationRecord& record = delegations.at(id);
    if (report) return all.push_back(end(record, *report, now));
    put_into_inbox(record, now);
    all.push_back(answer(record.delegation, DelegationOutcome::changed, 1, 0));
  };
  for (const auto& change : answered.changes) act(change.delegation.id);
  while (!due.empty()) act(due.begin()->first);
  std::ranges::sort(all);
  return fmt::format("{}", fmt::join(all, "\n"));
}

std::string PlainModel::find_delegation(const std::string& id) const {
  const auto found = delegations.find(id);
  return found == delegations.end() ? "delegation_not_found" : show(found->second);
}

std::string PlainModel::list_delegations(const DelegationFilter& filter) const {
  using Direction = DelegationFilter::Direction;
  std::vector<Delegation> all;
  for (const auto& [id, record] : delegations) {
    const Delegation& d = record.delegation;
    const bool sent = filter.direction != Direction::received && d.caller_id == filter.workspace;
    const bool received = filter.direction != Direction::sent && d.callee_id == filter.workspace;
    if (filter.workspace && !sent && !received) continue;
    if (filter.peer && (sent ? d.callee_id : d.caller_id) != *filter.peer) continue;
    if ((filter.in_flight && is_final(d.status)) || (filter.status && d.status != *filter.status)) continue;
    all.push_back(d);
  }
  const bool by_end = filter.status && is_final(*filter.status);
  if (filter.workspace) {
    std::ranges::sort(all, std::greater{}, [](const Delegation& d) { return std::pair(d.created_at, d.id); });
  } else if (by_end) {
    std::ranges::sort(all, std::greater{}, [](const Delegation& d) { return std::pair(*d.finished_at, d.id); });
  } else {
    std::ranges::sort(all, {}, [](const Delegation& d) { return std::pair(d.deadline, d.id); });
  }
  if (std::ssize(all) > filter.limit) all.resize(static_cast<std::size_t>(filter.limit));
  return show(all);
}

std::string PlainModel::delegation_figures() const {
  DelegationStats stats;
  for (const auto& [id, record] : delegations) ++stats.of(record.delegation.status);
  return fmt::format("{}", fmt::join(stats.counts, " "));
}

DelegationWait PlainModel::wait_of(const Delegation& of) const {
  DelegationWait wait;
  if (is_final(of.status)) return wait;
  wait.ahead = std::ranges::count_if(delegations, [&](const auto& one) {
    const Delegation& d = one.second.delegation;
    return d.callee_id == of.callee_id && !is_final(d.status) &&
           std::pair(d.created_at, d.id) < std::pair(of.created_at, of.id);
  });
  const std::string& files = delegations.at(of.id).task_files;
  for (const auto& upload : uploads) {
    const bool named = files.find(pending_uri(of.callee_id, upload.id)) != std::string::npos;
    const bool came_with_it = upload.workspace_id == of.callee_id && upload.source_id == of.caller_id;
    if (named && came_with_it && !upload.acked_at) wait.missing_file = upload.name;
  }
  return wait;
}

}  // namespace restante::testing
