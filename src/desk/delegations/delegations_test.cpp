#include "desk/delegations/delegations.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "desk/delegations/stuck_sweep.h"
#include "desk/test_desk.h"
#include "model/errors.h"
#include "store/sqlite/database/database.h"

namespace restante::desk {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using Status = DelegationStatus;

class DelegationsTest : public ::testing::Test {
 protected:
  TaskRequest order(const std::string& task = "do it") const {
    TaskRequest wanted;
    wanted.caller = caller;
    wanted.target = callee;
    wanted.task = task;
    return wanted;
  }
  std::string open(TaskRequest wanted) {
    const auto prepared = desk.delegations.prepare(std::move(wanted));
    EXPECT_TRUE(prepared);
    return desk.delegations.open(*prepared).take()->delegation.id;
  }
  Delegation find(const std::string& id) { return desk.store->find_delegation(id).value(); }
  std::string why(const std::string& id) {
    const auto record = desk.delegations.read(caller, id).value();
    return desk.delegations.look(std::span(&record.delegation, 1)).front().why;
  }
  std::string field_of(const TaskRequest& wanted) {
    const auto refused = desk.delegations.prepare(wanted);
    if (refused) return "none";
    EXPECT_TRUE(refused.error().is(errors::bad_field));
    return std::get<std::string>(refused.error().facts().at(0).value);
  }

  FileId stage(WorkspaceId owner) {
    auto staging = desk.uploads.stage(owner, UploadDirection::out, {Principal::Role::workspace, owner, {}, false});
    EXPECT_TRUE((*staging)->begin_file("a.txt", "text/plain") && (*staging)->write("a") && (*staging)->end_file());
    return (*staging)->commit().take()->at(0).upload.id;
  }
  static Json part(WorkspaceId owner, FileId file) {
    return Json::object(
        {{"kind", Json::string("file")}, {"file", Json::object({{"uri", Json::string(pending_uri(owner, file))}})}});
  }

  TestDesk desk;
  const WorkspaceId caller = desk.make_workspace();
  const WorkspaceId callee = desk.make_workspace();
};

TEST_F(DelegationsTest, ATaskThatComesWhileTheClockIsBehindIsNotOverdueOnceTheClockIsRight) {
  const Time right = desk.clock.now();
  desk.clock.jump(-hours(24 * 40));
  desk.clock.doubt(right);
  TaskRequest wanted = order();
  wanted.attachments = Json::Array{part(caller, stage(caller))};
  const auto prepared = desk.delegations.prepare(wanted);
  ASSERT_TRUE(prepared);
  EXPECT_GT(prepared->deadline, right);
  EXPECT_GT(prepared->terms.expires_at, right);
}

TEST_F(DelegationsTest, ARequestIsCheckedBeforeAnythingIsDone) {
  TaskRequest wanted = order();
  wanted.target.reset();
  EXPECT_EQ(field_of(wanted), "target_id");
  wanted.target = caller;
  EXPECT_EQ(field_of(wanted), "target_id");
  EXPECT_EQ(field_of(order("")), "task");
  wanted = order();
  wanted.delegation_id = "a/b";
  EXPECT_EQ(field_of(wanted), "delegation_id");
  wanted = order();
  wanted.idempotency_key = std::string(256, 'k');
  EXPECT_EQ(field_of(wanted), "idempotency_key");
  wanted = order();
  wanted.deadline = kStart + hours(30 * 24) + seconds(1);
  EXPECT_EQ(field_of(wanted), "deadline");
  wanted.deadline = kStart + hours(30 * 24);
  EXPECT_EQ(field_of(wanted), "none");
  EXPECT_EQ(desk.delegations.prepare(order())->deadline, kStart + hours(6));
}

TEST_F(DelegationsTest, ARepeatedTaskAfterItsDeadlineIsTheSameTaskAndANewOneIsRefused) {
  TaskRequest wanted = order();
  wanted.deadline = kStart + minutes(1);
  wanted.delegation_id = "d1";
  wanted.idempotency_key = "k1";
  open(wanted);
  desk.clock.advance(minutes(1));
  EXPECT_TRUE(desk.delegations.open(desk.delegations.prepare(wanted).value()).take()->hit);
  wanted.delegation_id.clear();
  const auto by_key = desk.delegations.open(desk.delegations.prepare(wanted).value()).take();
  ASSERT_TRUE(by_key);
  EXPECT_TRUE(by_key->hit);
  EXPECT_EQ(by_key->delegation.id, "d1");
  wanted.idempotency_key.clear();
  const auto fresh = desk.delegations.open(desk.delegations.prepare(wanted).value()).take();
  ASSERT_FALSE(fresh);
  EXPECT_TRUE(fresh.error().is(errors::bad_field));
  EXPECT_EQ(std::get<std::string>(fresh.error().facts().at(0).value), "deadline");
}

TEST_F(DelegationsTest, TheFilesOfATaskWaitAsLongAsTheTask) {
  const FileId file = stage(caller);
  const FileId result = stage(callee);
  TaskRequest wanted = order();
  wanted.attachments = {part(caller, file)};
  const auto brief = desk.delegations.open(desk.delegations.prepare(wanted).value()).take();
  ASSERT_EQ(brief->files.size(), 1u);
  EXPECT_EQ(brief->files[0].upload.expires_at, kStart + desk.rules.ttl);
  wanted.deadline = kStart + hours(20 * 24);
  ASSERT_GT(*wanted.deadline, kStart + desk.rules.ttl);
  const auto lasting = desk.delegations.open(desk.delegations.prepare(wanted).value()).take();
  ASSERT_EQ(lasting->files.size(), 1u);
  EXPECT_EQ(lasting->files[0].upload.expires_at, *wanted.deadline);
  DelegationReport done;
  done.status = Status::completed;
  const auto ended = desk.delegations.report(callee, lasting->delegation.id, done, {part(callee, result)}).take();
  ASSERT_EQ(ended->files.size(), 1u);
  EXPECT_EQ(ended->files[0].upload.expires_at, *wanted.deadline) << "and so do the files of its result";
}

TEST_F(DelegationsTest, BothInboxesRingOnceATaskIsDurableAndTheCallersWhenItEnds) {
  const auto id = open(order());
  const auto rung = desk.bell.rung(2);
  EXPECT_NE(std::ranges::find(rung, topic_of(callee)), rung.end());
  EXPECT_NE(std::ranges::find(rung, topic_of(caller)), rung.end());
  DelegationReport done;
  done.status = Status::completed;
  ASSERT_TRUE(desk.delegations.report(callee, id, done, {}).take());
  const auto again = desk.bell.rung(1);
  EXPECT_NE(std::ranges::find(again, topic_of(caller)), again.end());
}

TEST_F(DelegationsTest, ACallerReportsOnTasksItRecordedAndOnNoOthers) {
  DelegationReport done;
  done.status = Status::completed;
  const auto given = open(order());
  EXPECT_TRUE(desk.delegations.report(caller, given, done, {}).take().error().is(errors::delegation_not_found));
  TaskRequest by_hand = order();
  by_hand.recorded = true;
  const auto recorded = open(by_hand);
  EXPECT_EQ(desk.delegations.report(caller, recorded, done, {}).take()->outcome, DelegationOutcome::changed);
}

TEST_F(DelegationsTest, AFileOfAnotherWorkspaceIsNotSent) {
  TaskRequest wanted = order();
  wanted.attachments.emplace().push_back(
      Json::object({{"kind", Json::string("file")},
                    {"file", Json::object({{"uri", Json::string("platform-pending:" + WorkspaceId::make(kStart).text() +
                                                                "/" + FileId::make(kStart).text())}})}}));
  EXPECT_TRUE(desk.delegations.prepare(wanted).error().is(errors::attachment_gone));
}

TEST_F(DelegationsTest, ARetryTakesTargetAndTaskFromTheOldOne) {
  const auto old = open(order("the old task"));
  TaskRequest again;
  again.caller = caller;
  again.retry_of = old;
  ASSERT_TRUE(desk.delegations.complete_retry(again));
  EXPECT_EQ(again.target, callee);
  EXPECT_EQ(again.task, "the old task");
  again = TaskRequest();
  again.caller = callee;
  again.retry_of = old;
  EXPECT_TRUE(desk.delegations.complete_retry(again).error().is(errors::delegation_not_found));
}

class RetriedTaskTest : public DelegationsTest {
 protected:
  // A task that was given with a file and cancelled.
  std::string give(std::optional<Time> deadline = {}) {
    TaskRequest wanted = order("read it");
    wanted.deadline = deadline;
    wanted.attachments = {part(caller, original)};
    const auto opened = desk.delegations.open(desk.delegations.prepare(wanted).value()).take();
    sent = opened->files.at(0).upload.id;
    EXPECT_TRUE(desk.delegations.cancel(caller, opened->delegation.id).take());
    return opened->delegation.id;
  }
  TaskRequest retry(const std::string& old) const {
    TaskRequest again;
    again.caller = caller;
    again.retry_of = old;
    return again;
  }
  Result<OpenedDelegation> try_retry(TaskRequest again) {
    const auto whole = desk.delegations.complete_retry(again);
    if (!whole) return whole.error();
    const auto prepared = desk.delegations.prepare(std::move(again));
    if (!prepared) return prepared.error();
    return desk.delegations.open(*prepared).take();
  }
  void ack_and_sweep() {
    ASSERT_TRUE(desk.store->ack_upload(callee, sent, desk.clock.now()).take());
    ASSERT_TRUE(desk.store->sweep_uploads(seconds(0), 100, desk.clock.now()).take());
    ASSERT_FALSE(desk.store->find_upload(callee, sent));
  }
  void recall_original() { ASSERT_TRUE(desk.store->recall_upload(caller, original, {}, desk.clock.now()).take()); }

  const FileId original = stage(caller);
  FileId sent;
};

TEST_F(RetriedTaskTest, ItsFilesAreSentAgainUnderTheReceivingAgentsNames) {
  const auto old = give();
  recall_original();
  const auto opened = try_retry(retry(old));
  ASSERT_TRUE(opened);
  ASSERT_EQ(opened->files.size(), 1u);
  const FileId now = opened->files[0].upload.id;
  EXPECT_NE(now, sent);
  EXPECT_EQ(opened->files[0].upload.source_id, caller);
  const auto record = desk.delegations.read(callee, opened->delegation.id).value();
  EXPECT_NE(record.task_files.find(pending_uri(callee, now)), std::string::npos);
  EXPECT_EQ(record.task_files.find(sent.text()), std::string::npos);
  const auto rows = desk.inbox_of(callee);
  EXPECT_NE(rows.back().request_body.find(pending_uri(callee, now)), std::string::npos);
}

TEST_F(RetriedTaskTest, AFileThatTheReceivingAgentTookIsSentAgainFromTheCallersOriginal) {
  const auto old = give();
  ack_and_sweep();
  const auto opened = try_retry(retry(old));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->files.size(), 1u);
  ASSERT_TRUE(desk.delegations.cancel(caller, opened->delegation.id).take());
  EXPECT_EQ(try_retry(retry(opened->delegation.id))->files.size(), 1u) << "and once more";
}

TEST_F(RetriedTaskTest, ADeletedFileIsRefusedAndAnotherOneOrNoneMayReplaceIt) {
  const auto old = give();
  ack_and_sweep();
  recall_original();
  const auto refused = try_retry(retry(old));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is(errors::attachment_gone));
  EXPECT_NE(refused.error().sentence().find("sent again"), std::string_view::npos);
  TaskRequest without = retry(old);
  without.attachments.emplace();
  EXPECT_TRUE(try_retry(without)->files.empty());
  TaskRequest with = retry(old);
  with.attachments = {part(caller, stage(caller))};
  EXPECT_EQ(try_retry(with)->files.size(), 1u);
}

TEST_F(RetriedTaskTest, ARepeatedRetryIsTheSameTaskAlsoWhenItsFilesWereDeleted) {
  TaskRequest again = retry(give());
  again.idempotency_key = "k1";
  const auto first = try_retry(again);
  ASSERT_TRUE(first && !first->hit);
  ack_and_sweep();
  recall_original();
  const auto second = try_retry(again);
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->hit);
}

TEST_F(RetriedTaskTest, AFileThatTheReceivingAgentOwnsIsNotSentToAnotherAgent) {
  auto staging = desk.uploads.stage(callee, UploadDirection::in, kOperator);
  ASSERT_TRUE((*staging)->begin_file("own.txt", "") && (*staging)->write("o") && (*staging)->end_file());
  const FileId own = (*staging)->commit().take()->at(0).upload.id;
  TaskRequest wanted = order();
  wanted.attachments = {part(callee, own)};
  const auto old = open(wanted);
  ASSERT_TRUE(desk.delegations.cancel(caller, old).take());
  const auto again = try_retry(retry(old));
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->files.empty());
  const auto record = desk.delegations.read(caller, again->delegation.id).value();
  EXPECT_NE(record.task_files.find(pending_uri(callee, own)), std::string::npos) << "the task only mentions it";
  ASSERT_TRUE(desk.delegations.cancel(caller, again->delegation.id).take());
  TaskRequest to_another = retry(old);
  to_another.target = desk.make_workspace();
  const auto refused = try_retry(to_another);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().is(errors::attachment_gone));
}

TEST_F(RetriedTaskTest, ARetryHasAsMuchTimeAsTheOldTaskUnlessTheCallerSetsADeadline) {
  const auto old = give(kStart + hours(72));
  desk.clock.advance(hours(1));
  const auto opened = try_retry(retry(old));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->delegation.deadline, desk.clock.now() + hours(72));
  EXPECT_EQ(opened->files.at(0).upload.expires_at, opened->delegation.deadline);
  TaskRequest sooner = retry(old);
  sooner.deadline = desk.clock.now() + hours(1);
  EXPECT_EQ(try_retry(sooner)->delegation.deadline, desk.clock.now() + hours(1));
}

TEST_F(DelegationsTest, WhyATaskWaitsIsAnsweredAsASentence) {
  const auto id = open(order());
  EXPECT_EQ(why(id), "the receiving agent has never connected");
  const auto poll = desk.presence.poll(callee);
  desk.presence.flush();
  EXPECT_EQ(why(id), "in the receiving agent's inbox for 0 s, not picked up yet");
  desk.clock.advance(seconds(1));
  const auto second = open(order());
  desk.clock.advance(seconds(1));
  const auto third = open(order());
  EXPECT_EQ(why(third), "behind 2 others for the same receiving agent");
  ASSERT_TRUE(desk.delegations.beat(callee, id, "thinking").take());
  EXPECT_EQ(why(id), "being worked on; last heartbeat 0 s ago; its last report: thinking");
  desk.clock.advance(minutes(5));
  EXPECT_EQ(why(id), "picked up and silent for 5 min; its last report: thinking");
  ASSERT_TRUE(desk.delegations.cancel(caller, id).take());
  EXPECT_EQ(why(id), "");
  ASSERT_TRUE(desk.store->set_unseen_agents_offline(desk.clock.now(), desk.clock.now()).take());
  EXPECT_EQ(why(second).substr(0, 37), "the receiving agent is offline since ");
}

TEST_F(DelegationsTest, AckedTasksArePickedUpWithTheNextTick) {
  const auto id = open(order());
  ASSERT_TRUE(desk.store->ack_inbox(callee, 1).take());
  desk.delegations.pick_up();
  EXPECT_EQ(find(id).status, Status::queued);
  desk.delegations.mark_acked(callee);
  desk.delegations.pick_up();
  EXPECT_EQ(find(id).status, Status::dispatched);
}

class StuckSweepTest : public DelegationsTest {
 protected:
  StuckSweepReport after(std::chrono::microseconds time) {
    desk.clock.advance(time);
    return sweep.run_once();
  }
  StuckSweep sweep{*desk.store, desk.delegations, desk.clock, desk.log, desk.metrics, StuckSweepRules()};
};

TEST_F(StuckSweepTest, NoTaskIsStuckBeforeTheServerHasRunForAsLongAsAnAgentMayBeSilent) {
  const auto id = open(order());
  ASSERT_TRUE(desk.delegations.beat(callee, id, std::nullopt).take());
  desk.clock.advance(hours(1));
  StuckSweep back(*desk.store, desk.delegations, desk.clock, desk.log, desk.metrics, StuckSweepRules());
  EXPECT_TRUE(back.run_once().waiting);
  desk.clock.advance(minutes(9));
  EXPECT_TRUE(back.run_once().waiting);
  EXPECT_EQ(find(id).status, Status::dispatched);
  desk.clock.advance(minutes(1));
  EXPECT_EQ(back.run_once().stuck, 1);
  EXPECT_EQ(find(id).status, Status::stuck);
}

TEST_F(StuckSweepTest, ADeadlineAppliesAlsoForAServerThatHasJustStarted) {
  TaskRequest soon = order();
  soon.deadline = kStart + minutes(1);
  const auto id = open(soon);
  const auto first = after(minutes(5));
  EXPECT_TRUE(first.waiting);
  EXPECT_EQ(first.failed, 1);
  EXPECT_EQ(find(id).status, Status::failed);
  EXPECT_EQ(after(minutes(5)).failed, 0);
}

TEST_F(StuckSweepTest, ASilentTaskIsStuckAndItsCallerIsNotified) {
  const auto id = open(order());
  ASSERT_TRUE(desk.delegations.beat(callee, id, std::nullopt).take());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(after(minutes(5)).stuck, 0);
  EXPECT_EQ(after(minutes(5)).stuck, 1);
  EXPECT_EQ(find(id).status, Status::stuck);
  EXPECT_EQ(desk.inbox_of(caller).back().method, "delegate_result");
  EXPECT_EQ(desk.metrics.delegation_steps("stuck").Value(), 1);
}

TEST_F(StuckSweepTest, AClockThatWasSetEndsNoTaskForAWhile) {
  for (int i = 0; i < 3; ++i) after(minutes(5));
  const auto id = open(order());
  desk.clock.jump(hours(24));
  EXPECT_TRUE(after(minutes(1)).waiting);
  EXPECT_EQ(find(id).status, Status::queued);
  EXPECT_TRUE(after(minutes(5)).waiting);
  EXPECT_EQ(after(minutes(6)).failed, 1) << "the clock stayed: the deadline has passed";
}

TEST_F(StuckSweepTest, ATaskWhoseServerDiedGoesToTheInboxAtOnceUnlessAnotherServerMayCallItsCallback) {
  auto wanted = desk.delegations.prepare(order()).value();
  wanted.to_inbox = false;
  ASSERT_TRUE(desk.delegations.open(wanted).take());
  EXPECT_EQ(after(seconds(1)).delivered, 0);
  StuckSweepRules rules;
  rules.alone = true;
  StuckSweep next(*desk.store, desk.delegations, desk.clock, desk.log, desk.metrics, rules);
  EXPECT_EQ(next.run_once().delivered, 1);
  EXPECT_TRUE(find(wanted.id).inbox_seq);
  auto own = desk.delegations.prepare(order()).value();
  own.to_inbox = false;
  desk.clock.advance(seconds(1));
  ASSERT_TRUE(desk.delegations.open(own).take());
  EXPECT_EQ(next.run_once().delivered, 0) << "this server calls that callback itself";
  EXPECT_EQ(after(minutes(3)).delivered, 1) << "no server can still be calling";
}

TEST_F(StuckSweepTest, TasksAckedBeforeACrashArePickedUpAtTheFirstTick) {
  const auto id = open(order());
  ASSERT_TRUE(desk.store->ack_inbox(callee, 1).take());
  sweep.tick();
  EXPECT_EQ(find(id).status, Status::dispatched);
  EXPECT_EQ(desk.metrics.delegations_in_flight("dispatched").Value(), 1);
}

TEST_F(StuckSweepTest, AnUnreachableDatabaseIsCountedAndAgentsGetTheirTimeAgain) {
  const auto id = open(order());
  ASSERT_TRUE(desk.delegations.beat(callee, id, std::nullopt).take());
  EXPECT_TRUE(after(minutes(5)).waiting);
  {
    sqlite::Health health;
    sqlite::Database other((desk.folder.path() / "test.db").string(), sqlite::Database::Mode::read_write, health);
    other.run("CREATE TRIGGER broken BEFORE UPDATE ON delegations BEGIN DELETE FROM not_there; END");
    EXPECT_THROW((void)after(minutes(6)), Unavailable);
    other.run("DROP TRIGGER broken");
  }
  EXPECT_EQ(desk.metrics.delegation_sweep_errors.Value(), 1);
  for (const int minute : {5, 4}) {
    const auto back = after(minutes(minute));
    EXPECT_TRUE(back.waiting);
    EXPECT_EQ(back.stuck, 0);
  }
  EXPECT_EQ(find(id).status, Status::dispatched);
  EXPECT_EQ(after(minutes(1)).stuck, 1);
  EXPECT_EQ(desk.metrics.delegation_sweep_errors.Value(), 1);
}

TEST_F(StuckSweepTest, ReportsWhenASweepReallyRan) {
  const Time begin = desk.clock.now();
  const auto loop_tick = [&] {
    return sweep.last_run().as_loop_tick({"delegations", {}, desk.clock.now(), desk.clock.now(), false, 0},
                                         std::chrono::minutes(5));
  };
  EXPECT_FALSE(loop_tick().last_tick_at);
  sweep.tick();
  EXPECT_EQ(loop_tick().last_tick_at, begin);
  desk.clock.advance(std::chrono::minutes(4));
  sweep.tick();
  EXPECT_EQ(loop_tick().last_tick_at, begin);
  desk.clock.advance(std::chrono::minutes(1));
  sweep.tick();
  EXPECT_EQ(loop_tick().last_tick_at, desk.clock.now());
  EXPECT_EQ(loop_tick().period, std::chrono::minutes(5));
}

TEST_F(StuckSweepTest, OneSweepDoesMoreThanOneStep) {
  for (int i = 0; i < 99; ++i) open(order());
  EXPECT_EQ(after(hours(7)).failed, 99);
}

}  // namespace
}  // namespace restante::desk
