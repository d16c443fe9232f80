// Deadlines, silence and limits of delegations, on every backend.
#include <gmock/gmock.h>

#include "test_delegations.h"

namespace restante::testing {
namespace {

using ::testing::IsEmpty;

class DelegationSweeps : public DelegationTest {
 protected:
  std::vector<std::string> swept(Time now, std::int64_t stuck_after = 600) {
    std::vector<std::string> ids;
    for (const auto& change : sweep(now, stuck_after).changes) ids.push_back(change.delegation.id);
    return ids;
  }
  void poll(WorkspaceId workspace, Time now) {
    const PollRecord record{workspace, now};
    ASSERT_TRUE(store->record_polls({&record, 1}).take());
  }
  void pick_up(const std::string& id, Time now) {
    ASSERT_TRUE(store->ack_inbox(callee, *find(id).inbox_seq).take());
    EXPECT_EQ(store->pick_up_delegations({callee}, now).take()->size(), 1u);
  }
};
RESTANTE_EVERY_BACKEND(DelegationSweeps);

TEST_P(DelegationSweeps, AQueuedTaskWaitsForItsDeadlineHoweverLongItsAgentIsOffline) {
  auto patient = task("d1");
  patient.deadline = at(10 * 86'400);
  open(patient);
  EXPECT_THAT(swept(at(9 * 86'400)), IsEmpty());
  EXPECT_EQ(status_of("d1"), Status::queued);
  EXPECT_EQ(swept(at(10 * 86'400)).size(), 1u);
  EXPECT_EQ(status_of("d1"), Status::failed);
  EXPECT_EQ(find("d1").error_detail, "deadline exceeded");
  EXPECT_EQ(results_of("d1").size(), 1u);
  EXPECT_THAT(swept(at(11 * 86'400)), IsEmpty());
}

TEST_P(DelegationSweeps, HeartbeatsDoNotExtendTheDeadline) {
  open(task("d1"));
  for (int i = 0; i <= 21'600; i += 600) beat("d1", at(i));
  EXPECT_EQ(swept(at(21'600)).size(), 1u);
  EXPECT_EQ(status_of("d1"), Status::failed);
  EXPECT_EQ(beat("d1", at(21'601)).delegation.status, Status::failed);
}

TEST_P(DelegationSweeps, APickedUpTaskWithoutItsHeartbeatIsStuckWhateverItsAgentDoes) {
  open(task("d1"));
  beat("d1", at(100));
  poll(callee, at(699));
  EXPECT_THAT(swept(at(700)), IsEmpty()) << "silent for exactly as long as it may";
  EXPECT_EQ(swept(at(701)).size(), 1u);
  EXPECT_EQ(status_of("d1"), Status::stuck);
  ASSERT_EQ(results_of("d1").size(), 1u);
  EXPECT_EQ(results_of("d1")[0].status, "error");
  EXPECT_EQ(report("d1", Status::completed, "late", at(800)).outcome, DelegationOutcome::late);
}

TEST_P(DelegationSweeps, ATaskWithoutHeartbeatIsJudgedByItsAgentsLastSignOfLife) {
  open(task("d1"));
  pick_up("d1", at(100));
  poll(callee, at(600));
  EXPECT_THAT(swept(at(1'200)), IsEmpty());
  ASSERT_TRUE(store->record_heartbeat(callee, {}, at(900)).take());
  EXPECT_THAT(swept(at(1'500)), IsEmpty());
  EXPECT_EQ(swept(at(1'501)).size(), 1u);
  EXPECT_EQ(status_of("d1"), Status::stuck);
}

TEST_P(DelegationSweeps, WithoutAnySignOfLifeTheTimeCountsFromThePickUp) {
  open(task("d1"));
  pick_up("d1", at(100));
  EXPECT_THAT(swept(at(700)), IsEmpty());
  EXPECT_EQ(swept(at(701)).size(), 1u);
}

TEST_P(DelegationSweeps, AHeartbeatAtTheThresholdKeepsItAlive) {
  open(task("d1"));
  beat("d1", at(0));
  beat("d1", at(5'000));
  EXPECT_THAT(swept(at(5'001)), IsEmpty());
  EXPECT_EQ(status_of("d1"), Status::dispatched);
}

TEST_P(DelegationSweeps, ATaskThatAServerDidNotDeliverBeforeItDiedGoesToTheInbox) {
  auto wanted = task("d1");
  wanted.to_inbox = false;
  open(wanted, at(1));
  EXPECT_THAT(swept(at(601)), IsEmpty());
  EXPECT_EQ(swept(at(602)).size(), 1u);
  EXPECT_EQ(inbox_of(callee).size(), 1u);
  EXPECT_EQ(status_of("d1"), Status::queued);
  EXPECT_THAT(swept(at(603)), IsEmpty());
}

TEST_P(DelegationSweeps, AStepIsBoundedAndReportsThatThereIsMore) {
  for (int i = 0; i < 5; ++i) open(task("d" + std::to_string(i)));
  auto first = sweep(at(30'000), 600, 3);
  EXPECT_EQ(first.changes.size(), 3u);
  EXPECT_TRUE(first.more);
  auto second = sweep(at(30'000), 600, 3);
  EXPECT_EQ(second.changes.size(), 2u);
  EXPECT_FALSE(second.more);
}

class DelegationBounds : public DelegationTest {};
RESTANTE_EVERY_BACKEND(DelegationBounds);

TEST_P(DelegationBounds, TasksInFlightAreLimitedByCallerByPairAndByReceivingAgent) {
  const auto limited = [&](const std::string& id, WorkspaceId from, WorkspaceId to) {
    auto wanted = task(id);
    wanted.caller_id = from;
    wanted.callee_id = to;
    wanted.limits = {16, 3, 2, 3};
    return try_open(wanted);
  };
  const auto scope_of = [](const Result<OpenedDelegation>& refused) {
    return refused ? "none" : std::get<std::string>(refused.error().facts().at(0).value);
  };
  EXPECT_TRUE(limited("d1", caller, callee));
  EXPECT_TRUE(limited("d2", caller, callee));
  EXPECT_ERROR(limited("d3", caller, callee), errors::too_many_delegations);
  EXPECT_EQ(scope_of(limited("d3", caller, callee)), "pair");
  EXPECT_TRUE(limited("d3", caller, third));
  EXPECT_EQ(scope_of(limited("d4", caller, third)), "caller");
  EXPECT_TRUE(limited("d4", third, callee));
  EXPECT_EQ(scope_of(limited("d5", third, callee)), "callee");
  EXPECT_TRUE(limited("d1", caller, callee)->hit) << "a repeated request does not count";
  cancel("d1");
  EXPECT_TRUE(limited("d5", caller, callee)) << "ended tasks do not count";
}

TEST_P(DelegationBounds, ChainsHaveAMaximalDepthAndNoCycle) {
  std::vector<WorkspaceId> agents{caller, callee};
  for (int i = 0; i < 16; ++i) agents.push_back(make_workspace("a" + std::to_string(i)).id);
  std::string parent;
  for (std::size_t i = 0; i < 16; ++i) {
    auto wanted = task("d" + std::to_string(i));
    wanted.caller_id = agents[i];
    wanted.callee_id = agents[i + 1];
    wanted.parent_id = parent;
    EXPECT_EQ(open(wanted).delegation.depth, static_cast<std::int64_t>(i) + 1);
    parent = wanted.id;
  }
  auto deeper = task("deeper");
  deeper.caller_id = agents[16];
  deeper.callee_id = agents[17];
  deeper.parent_id = parent;
  EXPECT_ERROR(try_open(deeper), errors::delegation_too_deep);
  for (const std::size_t back : {0u, 1u}) {
    auto cycle = task("cycle");
    cycle.caller_id = agents[2];
    cycle.callee_id = agents[back];
    cycle.parent_id = "d1";
    EXPECT_ERROR(try_open(cycle), errors::delegation_cycle);
  }
}

TEST_P(DelegationBounds, AParentIsATaskOfTheCallerThatHasNotEnded) {
  open(task("d1"));
  auto part = task("d2");
  part.caller_id = callee;
  part.callee_id = third;
  part.parent_id = "d0";
  EXPECT_ERROR(try_open(part), errors::delegation_not_found);
  auto foreign = part;
  foreign.caller_id = third;
  foreign.callee_id = callee;
  foreign.parent_id = "d1";
  EXPECT_ERROR(try_open(foreign), errors::delegation_not_found);
  part.parent_id = "d1";
  EXPECT_EQ(open(part).delegation.depth, 2);
  cancel("d1");
  part.id = "d3";
  EXPECT_ERROR(try_open(part), errors::delegation_ended);
}

}  // namespace
}  // namespace restante::testing
