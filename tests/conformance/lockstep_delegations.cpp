#include "lockstep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace restante::testing {

std::string LockstepProgram::some_task() {
  if (model_.delegations.empty() || one_in(15)) return "t" + std::to_string(pick(2000));
  auto found = model_.delegations.begin();
  std::advance(found, pick(static_cast<int>(model_.delegations.size())));
  return found->first;
}

WorkspaceId LockstepProgram::party(const std::string& task, DelegationActor as) {
  const auto found = model_.delegations.find(task);
  if (found == model_.delegations.end() || one_in(8)) return workspace();
  return as == DelegationActor::caller ? found->second.delegation.caller_id : found->second.delegation.callee_id;
}

void LockstepProgram::delegate() {
  NewDelegation wanted;
  wanted.id = one_in(12) ? some_task() : "t" + std::to_string(pick(2000));
  wanted.caller_id = workspace();
  wanted.callee_id = workspace();
  wanted.task = word() + word();
  if (one_in(3)) wanted.idempotency_key = word();
  wanted.deadline = now_ + std::chrono::seconds(1 + pick(200));
  if (one_in(4)) wanted.retry_of = some_task();
  if (one_in(4)) wanted.parent_id = some_task();
  wanted.recorded = one_in(6);
  wanted.to_inbox = !one_in(6);
  wanted.limits = {one_in(3) ? 1 + pick(3) : 0, one_in(4) ? pick(12) : 0, one_in(4) ? pick(5) : 0,
                   one_in(4) ? pick(12) : 0};
  wanted.terms = terms();
  if (one_in(3) && model_.workspaces.contains(wanted.caller_id)) {
    wanted.attachments.push_back({wanted.caller_id, some_outgoing_file(), FileId::make(now_)});
    if (one_in(2)) {
      const auto sent = some_file();
      wanted.attachments[0] = {owner(sent), sent, FileId::make(now_), wanted.caller_id};
    }
    wanted.files = R"([{"uri":")" + pending_uri(wanted.callee_id, wanted.attachments[0].id) + R"(","name":"n"}])";
  }
  const auto result = store_->open_delegation(wanted, now_).take();
  EXPECT_EQ(show(result), model_.open(wanted, now_));
}

void LockstepProgram::report() {
  const auto id = some_task();
  DelegationReport sent_report;
  sent_report.by = one_in(3) ? DelegationActor::caller : DelegationActor::callee;
  if (one_in(10)) sent_report.by = DelegationActor::platform;
  constexpr DelegationStatus kSaid[] = {DelegationStatus::in_progress, DelegationStatus::completed,
                                        DelegationStatus::failed, DelegationStatus::stuck};
  sent_report.status = kSaid[sent_report.by == DelegationActor::platform ? 3 : pick(3)];
  sent_report.text = one_in(4) ? "" : word();
  sent_report.terms = terms();
  const auto who = party(id, sent_report.by);
  if (one_in(4)) {
    const auto source = some_outgoing_file();
    sent_report.attachments.push_back({owner(source), source, FileId::make(now_)});
    sent_report.files = "[]";
  }
  const auto result = store_->advance_delegation(who, id, sent_report, now_).take();
  EXPECT_EQ(show(result), model_.advance(who, id, sent_report, now_));
}

void LockstepProgram::beat_task() {
  const auto id = some_task();
  const auto who = party(id, DelegationActor::callee);
  const auto progress = one_in(2) ? std::optional<std::string>(word()) : std::nullopt;
  EXPECT_EQ(show(store_->beat_delegation(who, id, progress, now_).take()), model_.beat(who, id, progress, now_));
}

void LockstepProgram::pick_up() {
  std::vector<WorkspaceId> callees;
  for (const auto& id : workspaces_) {
    if (one_in(2)) continue;
    const std::int64_t seq = pick(static_cast<int>(model_.inboxes[id].size()) + 2);
    EXPECT_TRUE(store_->ack_inbox(id, seq).take());
    model_.ack_inbox(id, seq);
    callees.push_back(id);
  }
  SweptDelegations picked;
  picked.changes = store_->pick_up_delegations(callees, now_).take().value();
  EXPECT_EQ(show(picked), model_.pick_up(callees, now_));
  const auto id = some_task();
  EXPECT_EQ(show(store_->deliver_delegation(id, now_).take()), model_.deliver(id, now_));
}

void LockstepProgram::sweep_tasks() {
  const auto silent = now_ - std::chrono::seconds(pick(60));
  const auto undelivered = now_ - std::chrono::seconds(pick(60));
  const auto swept = store_->sweep_delegations(silent, undelivered, 1'000'000, now_).take().value();
  EXPECT_EQ(show(swept), model_.sweep_delegations(silent, undelivered, now_, swept));
  EXPECT_FALSE(swept.more);
}

void LockstepProgram::look_at_tasks() {
  const auto id = some_task();
  EXPECT_EQ(show(store_->read_delegation(id)), model_.find_delegation(id));
  DelegationFilter filter;
  if (one_in(2)) filter.workspace = workspace();
  filter.direction = static_cast<DelegationFilter::Direction>(pick(3));
  if (filter.workspace && filter.direction != DelegationFilter::Direction::any && one_in(3)) {
    filter.peer = workspace();
  }
  if (one_in(2)) filter.status = kDelegationStatuses[pick(6)];
  if (!filter.status) filter.in_flight = !filter.workspace || one_in(2);
  filter.limit = pick(20);
  const auto listed = store_->list_delegations(filter);
  EXPECT_EQ(show(listed), model_.list_delegations(filter));
  const auto waits = store_->delegation_waits(listed);
  ASSERT_EQ(waits.size(), listed.size());
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const DelegationWait expected = model_.wait_of(listed[i]);
    EXPECT_EQ(waits[i].ahead, expected.ahead);
    EXPECT_EQ(waits[i].missing_file, expected.missing_file);
  }
  const auto counts = store_->delegation_stats();
  EXPECT_EQ(fmt::format("{}", fmt::join(counts.counts, " ")), model_.delegation_figures());
}

}  // namespace restante::testing
