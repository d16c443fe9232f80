#include "model/delegation.h"

#include <gtest/gtest.h>

#include "model/delegation_rules.h"
#include "model/errors.h"

namespace restante {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Time kNow = Time(seconds(1'800'000'000));

TEST(Delegation, NamesAreReadBack) {
  for (const auto status : kDelegationStatuses) EXPECT_EQ(parse_delegation_status(name_of(status)), status);
  EXPECT_EQ(parse_delegation_status("Queued"), std::nullopt);
  EXPECT_EQ(parse_delegation_status(""), std::nullopt);
  for (const auto actor : {DelegationActor::caller, DelegationActor::callee, DelegationActor::platform}) {
    EXPECT_EQ(parse_delegation_actor(name_of(actor)), actor);
  }
  EXPECT_EQ(parse_delegation_actor("unknown"), std::nullopt);
}

TEST(Delegation, AnIdIsOneToAHundredAndTwentyEightPlainCharacters) {
  for (const char* good : {"a", "0", "A.b_c:d-9"}) EXPECT_TRUE(is_delegation_id(good)) << good;
  EXPECT_TRUE(is_delegation_id(std::string(128, 'x')));
  for (const char* bad : {"", "a b", "a/b", "ä", "a\n", "a%20"}) EXPECT_FALSE(is_delegation_id(bad)) << bad;
  EXPECT_FALSE(is_delegation_id(std::string(129, 'x')));
  EXPECT_FALSE(is_delegation_id(std::string("a\0b", 3)));
}

// A task at `depth`. Its id is its depth, and so is that of its parent.
Delegation chained(std::int64_t depth) {
  Delegation one;
  one.id = std::to_string(depth);
  one.depth = depth;
  one.parent_id = std::to_string(depth - 1);
  one.caller_id = WorkspaceId::make(kNow);
  one.callee_id = WorkspaceId::make(kNow);
  return one;
}

TEST(DelegationChain, AChainWithoutALimitIsReadAndGrowsNoFurtherThanAThousand) {
  NewDelegation wanted;
  wanted.id = "new";
  wanted.callee_id = WorkspaceId::make(kNow);
  wanted.limits.depth = 0;
  std::vector<Delegation> chain{chained(2'000)};
  while (!next_in_chain(wanted, chain).empty()) chain.push_back(chained(chain.back().depth - 1));
  EXPECT_EQ(std::ssize(chain), kMaxDelegationDepth);
  EXPECT_TRUE(depth_in_chain(wanted, chain).error().is(errors::delegation_too_deep));
  EXPECT_EQ(depth_in_chain(wanted, {chained(999)}).value(), 1'000);
  EXPECT_TRUE(depth_in_chain(wanted, {chained(1'000)}).error().is(errors::delegation_too_deep));
}

TEST(DelegationChain, ATaskIsNotPartOfItself) {
  NewDelegation wanted;
  wanted.id = "1";
  wanted.callee_id = WorkspaceId::make(kNow);
  EXPECT_TRUE(depth_in_chain(wanted, {chained(3), chained(2)}).error().is(errors::delegation_cycle));
  wanted.id = "other";
  EXPECT_EQ(depth_in_chain(wanted, {chained(3), chained(2)}).value(), 4);
  EXPECT_TRUE(is_ancestor(chained(2), chained(3)));
  EXPECT_FALSE(is_ancestor(chained(3), chained(3))) << "the row of an id that was used again";
}

class Why : public ::testing::Test {
 protected:
  Why() {
    task.created_at = task.updated_at = kNow - minutes(3);
    task.inbox_seq = 1;
    waiting.callee_online = true;
    waiting.seen_at = waiting.polled_at = kNow;
  }
  std::string why() const { return why_waiting(waiting, kNow); }

  Delegation task;
  WaitFacts waiting{task};
};

TEST_F(Why, AQueuedTaskNamesTheStateOfItsReceivingAgent) {
  EXPECT_EQ(why(), "in the receiving agent's inbox for 3 min, not picked up yet");
  waiting.missing_file = "a.txt";
  EXPECT_EQ(why(), "waiting for a file: the receiving agent has not taken a.txt");
  waiting.ahead = 2;
  EXPECT_EQ(why(), "behind 2 others for the same receiving agent");
  waiting.silent_for = seconds(400);
  EXPECT_EQ(why(), "the receiving agent has not polled since " + format_time(kNow));
  waiting.polled_at.reset();
  EXPECT_EQ(why(), "the receiving agent has not polled yet");
  waiting.callee_online = false;
  EXPECT_EQ(why(), "the receiving agent is offline since " + format_time(kNow));
  waiting.seen_at.reset();
  EXPECT_EQ(why(), "the receiving agent has never connected");
  waiting.callee_removed = true;
  EXPECT_EQ(why(), "the receiving agent was removed; the task waits for its deadline");
}

TEST_F(Why, ACallbackThatIsBeingCalledAndARecordedTaskAreNamed) {
  waiting.callee_polls = false;
  waiting.polled_at.reset();
  EXPECT_EQ(why(), "the receiving agent's callback could not take it; it waits in the inbox until the agent polls");
  task.inbox_seq.reset();
  EXPECT_EQ(why(), "the receiving agent's callback is being called");
  waiting.seen_at.reset();
  EXPECT_EQ(why(), "the receiving agent's callback is being called")
      << "an agent that is called need never have connected";
  task.recorded = true;
  EXPECT_EQ(why(), "recorded by its caller, who reports on it");
}

TEST_F(Why, ATaskInProgressNamesItsLastHeartbeatAndItsLastReport) {
  task.status = DelegationStatus::dispatched;
  EXPECT_EQ(why(), "picked up and silent for 3 min");
  task.last_heartbeat = kNow - seconds(9);
  EXPECT_EQ(why(), "being worked on; last heartbeat 9 s ago");
  waiting.ahead = 1;
  EXPECT_EQ(why(), "picked up, behind one other for the same receiving agent");
  waiting.missing_file = "a.txt";
  EXPECT_EQ(why(), "waiting for a file: the receiving agent has not taken a.txt");
  task.status = DelegationStatus::in_progress;
  task.progress = "halfway";
  EXPECT_EQ(why(), "being worked on; last heartbeat 9 s ago; its last report: halfway");
  task.last_heartbeat = kNow - hours(3);
  EXPECT_EQ(why(), "picked up and silent for 3 h; its last report: halfway");
  task.last_heartbeat = kNow - hours(72);
  EXPECT_EQ(why(), "picked up and silent for 3 days; its last report: halfway");
  waiting.callee_online = false;
  EXPECT_EQ(why(),
            "picked up, but the receiving agent is offline since " + format_time(kNow) + "; its last report: halfway");
  task.status = DelegationStatus::completed;
  EXPECT_EQ(why(), "");
}

}  // namespace
}  // namespace restante
