#include "desk/workspaces/presence.h"

#include <gtest/gtest.h>

#include <thread>

#include "desk/inbox/inbox.h"
#include "desk/test_desk.h"

namespace restante::desk {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

struct PresenceTest : ::testing::Test {
  // A poll that is answered at once.
  void poll() { desk.presence.poll(agent); }
  void poll_every(seconds gap, int times) {
    for (int i = 0; i < times; ++i) {
      poll();
      desk.clock.advance(gap);
    }
  }
  PollStatus poll_status() { return desk.workspaces.poll_status(*desk.store->find_workspace(agent)); }
  std::string sentence() { return describe_silence(*desk.store->find_workspace(agent), poll_status()); }
  // The published events without heartbeats.
  std::vector<std::string> published() {
    std::vector<std::string> names;
    const auto page = desk.event_bus.since(seen_, agent);
    for (const LiveEvent& item : page.items) {
      if (item.name != "WORKSPACE_HEARTBEAT") names.push_back(item.name);
    }
    seen_ = page.last;
    return names;
  }
  void beat() { ASSERT_TRUE(desk.workspaces.beat(agent, {}).take()); }
  // What the server's loop does.
  void tick() {
    desk.presence.flush();
    desk.workspaces.set_unseen_agents_offline();
    desk.presence.report_silences();
  }

  TestDesk desk;
  EventBus::EventSubscription watch{desk.event_bus};
  WorkspaceId agent = desk.make_workspace();

 private:
  std::uint64_t seen_ = 0;
};

TEST_F(PresenceTest, FlushWritesTheLatestPollOfEach) {
  const WorkspaceId other = desk.make_workspace();
  desk.presence.poll(agent);
  desk.presence.poll(other);
  desk.clock.advance(seconds(5));
  desk.presence.poll(agent);
  EXPECT_FALSE(desk.store->find_workspace(agent)->last_poll_at);
  desk.presence.flush();
  EXPECT_EQ(desk.store->find_workspace(agent)->last_poll_at, kStart + seconds(5));
  EXPECT_EQ(desk.store->find_workspace(agent)->usual_poll_gap, seconds(5));
  EXPECT_EQ(desk.store->find_workspace(other)->last_poll_at, kStart);
  EXPECT_FALSE(desk.store->find_workspace(other)->usual_poll_gap);
}

TEST_F(PresenceTest, WithoutNewPollsNothingIsWrittenAlsoWhileAPollIsHeld) {
  const auto held = desk.presence.poll(agent);
  desk.presence.flush();
  desk.clock.advance(seconds(20));
  desk.presence.flush();
  EXPECT_EQ(desk.store->find_workspace(agent)->last_poll_at, kStart);
}

TEST_F(PresenceTest, APollMakesAnAgentOnlineBeforeItIsWritten) {
  EXPECT_EQ(desk.workspaces.find(agent)->status, WorkspaceStatus::awaiting_agent);
  poll();
  EXPECT_EQ(desk.workspaces.find(agent)->status, WorkspaceStatus::online);
  EXPECT_EQ(desk.workspaces.find(agent)->last_poll_at, kStart);
  desk.presence.flush();
  EXPECT_EQ(desk.workspaces.find(agent)->status, WorkspaceStatus::online);
}

TEST_F(PresenceTest, AnAgentThatNeverPolledIsNotSilentButNeverPolled) {
  EXPECT_EQ(sentence(), "never polled");
  beat();
  desk.clock.advance(minutes(30));
  EXPECT_EQ(sentence(), "never polled");
  EXPECT_FALSE(poll_status().silent_for);
  tick();
  EXPECT_EQ(published(), (std::vector<std::string>{"WORKSPACE_ONLINE", "WORKSPACE_OFFLINE"}));
}

TEST_F(PresenceTest, EveryHeartbeatIsPublishedLive) {
  beat();
  desk.clock.advance(seconds(15));
  beat();
  const auto page = desk.event_bus.since(0, agent);
  std::vector<std::string> names;
  for (const LiveEvent& item : page.items) names.push_back(item.name);
  EXPECT_EQ(names, (std::vector<std::string>{"WORKSPACE_ONLINE", "WORKSPACE_HEARTBEAT", "WORKSPACE_HEARTBEAT"}));
  EXPECT_EQ(page.items.back().data, R"({"last_heartbeat_at":")" + format_time(desk.clock.now()) + "\"}");
}

TEST_F(PresenceTest, AnAgentThatPolledEveryFiveSecondsIsSilentAfterAMinuteDespiteHeartbeats) {
  poll_every(seconds(5), 20);
  EXPECT_EQ(sentence(), "");
  desk.clock.advance(seconds(50));
  beat();
  EXPECT_EQ(sentence(), "");
  desk.clock.advance(seconds(10));
  beat();
  EXPECT_EQ(sentence(), "silent for 65 s");
  desk.clock.advance(minutes(6));
  beat();
  EXPECT_EQ(sentence(), "silent for 7 min");
  EXPECT_EQ(desk.workspaces.find(agent)->status, WorkspaceStatus::online) << "silent, not offline";
}

TEST_F(PresenceTest, AnAgentWithAnOpenPollIsListeningHoweverLongItIsHeld) {
  for (int i = 0; i < 5; ++i) {
    const auto held = desk.presence.poll(agent);
    desk.clock.advance(seconds(50));
    EXPECT_TRUE(poll_status().listening);
  }
  EXPECT_LT(*poll_status().usual_gap, milliseconds(100)) << "it asks again at once";
  auto held = desk.presence.poll(agent);
  desk.clock.advance(minutes(10));
  tick();
  EXPECT_EQ(sentence(), "");
  EXPECT_EQ(desk.workspaces.find(agent)->status, WorkspaceStatus::online);
  held.reset();
  EXPECT_FALSE(poll_status().listening);
  EXPECT_EQ(sentence(), "") << "the silence begins when the last poll ends";
  EXPECT_EQ(poll_status().last_poll_at, desk.clock.now());
  desk.clock.advance(seconds(61));
  EXPECT_EQ(sentence(), "silent for 61 s");
}

TEST_F(PresenceTest, AnAgentIsListeningUntilItsLastPollEnds) {
  auto one = desk.presence.poll(agent);
  const auto other = desk.presence.poll(agent);
  one.reset();
  desk.clock.advance(minutes(5));
  EXPECT_EQ(sentence(), "");
  EXPECT_TRUE(poll_status().listening);
}

TEST_F(PresenceTest, AnAgentThatPollsRarelyIsSilentAfterSeveralOfItsGaps) {
  poll_every(minutes(2), 60);
  desk.clock.advance(minutes(6));
  EXPECT_EQ(sentence(), "");
  desk.clock.advance(minutes(4));
  EXPECT_NE(sentence(), "");
}

TEST_F(PresenceTest, ALongPauseDoesNotBecomeTheUsualGap) {
  poll_every(seconds(5), 30);
  desk.clock.advance(std::chrono::hours(8));
  poll_every(seconds(5), 3);
  EXPECT_LT(*poll_status().usual_gap, seconds(15));
  desk.clock.advance(minutes(2));
  EXPECT_NE(sentence(), "");
}

TEST_F(PresenceTest, ASilenceIsPublishedOnceAndItsEndToo) {
  poll_every(seconds(5), 5);
  EXPECT_EQ(published(), std::vector<std::string>{"WORKSPACE_ONLINE"});
  for (int i = 0; i < 10; ++i) {
    desk.clock.advance(seconds(15));
    beat();
    tick();
  }
  EXPECT_EQ(published(), std::vector<std::string>{"WORKSPACE_SILENT"});
  EXPECT_EQ(desk.metrics.silent_workspaces.Value(), 1);
  poll();
  EXPECT_EQ(published(), std::vector<std::string>{"WORKSPACE_ONLINE"});
  EXPECT_EQ(desk.metrics.silent_workspaces.Value(), 0);
  desk.clock.advance(minutes(5));
  tick();
  tick();
  EXPECT_EQ(published(), (std::vector<std::string>{"WORKSPACE_OFFLINE", "WORKSPACE_SILENT"}));
  beat();
  EXPECT_EQ(published(), std::vector<std::string>{"WORKSPACE_ONLINE"});
}

TEST_F(PresenceTest, APushAgentThatPolledOnceIsNeverSilent) {
  agent = desk.make_workspace(DeliveryMode::push);
  poll();
  tick();
  desk.clock.advance(minutes(5));
  beat();
  tick();
  EXPECT_EQ(sentence(), "");
  EXPECT_EQ(published(), std::vector<std::string>{"WORKSPACE_ONLINE"});
}

TEST_F(PresenceTest, ASetWallClockMakesNoAgentSilent) {
  poll_every(seconds(5), 5);
  desk.clock.jump(std::chrono::hours(24));
  EXPECT_EQ(sentence(), "");
  desk.clock.jump(-std::chrono::hours(48));
  EXPECT_EQ(sentence(), "");
}

TEST_F(PresenceTest, AnotherServerKnowsTheUsualGapAndCountsNoTimeItDidNotRun) {
  poll_every(seconds(100), 60);
  desk.presence.flush();
  desk.clock.advance(minutes(30));  // no agent could have polled
  Presence later(*desk.store, desk.event_bus, desk.clock, desk.log, desk.metrics);
  const auto status = [&] { return later.poll_status(*desk.store->find_workspace(agent)); };
  EXPECT_FALSE(status().silent_for);
  EXPECT_GT(*status().usual_gap, seconds(80));
  desk.clock.advance(minutes(6));
  EXPECT_FALSE(status().silent_for);
  desk.clock.advance(minutes(3));
  ASSERT_TRUE(status().silent_for);
  EXPECT_GT(*status().silent_for, minutes(38)) << "from its last poll on";
}

// Two servers on one database.
struct SharedPresenceTest : PresenceTest {
  static PresenceRules shared() {
    PresenceRules rules;
    rules.alone = false;
    return rules;
  }
  void tick_both() {
    for (Presence* server : {&one, &other}) {
      server->flush();
      server->report_silences();
    }
  }
  // As the servers' loops run.
  void let_pass(minutes time) {
    for (seconds passed{0}; passed < time; passed += seconds(15)) {
      desk.clock.advance(seconds(15));
      tick_both();
    }
  }
  bool silent_on(Presence& server) {
    return server.poll_status(*desk.store->find_workspace(agent)).silent_for.has_value();
  }

  Presence one{*desk.store, desk.event_bus, desk.clock, desk.log, desk.metrics, shared()};
  Presence other{*desk.store, desk.event_bus, desk.clock, desk.log, desk.metrics, shared()};
};

TEST_F(SharedPresenceTest, AnAgentThatPollsOneServerIsNotSilentForTheOther) {
  for (int i = 0; i < 40; ++i) {
    one.poll(agent);
    desk.clock.advance(seconds(15));
    tick_both();
    ASSERT_FALSE(silent_on(other)) << i;
  }
  EXPECT_EQ(published(), std::vector<std::string>{"WORKSPACE_ONLINE"});
  EXPECT_EQ(desk.metrics.silent_workspaces.Value(), 0);
}

TEST_F(SharedPresenceTest, AnAgentThatChangedTheServerIsNotSilentForTheFirst) {
  one.poll(agent);
  tick_both();
  const auto held = other.poll(agent);
  let_pass(minutes(10));
  EXPECT_FALSE(silent_on(one)) << "the poll is still open there";
  EXPECT_EQ(published(), std::vector<std::string>{"WORKSPACE_ONLINE"});
}

TEST_F(SharedPresenceTest, ASilenceIsPublishedByOneOfThemAndSoIsItsEnd) {
  one.poll(agent);
  other.poll(agent);
  published();
  let_pass(minutes(10));
  EXPECT_TRUE(silent_on(one));
  EXPECT_TRUE(silent_on(other));
  EXPECT_EQ(published(), std::vector<std::string>{"WORKSPACE_SILENT"});
  EXPECT_EQ(desk.metrics.silent_workspaces.Value(), 1);
  Presence later(*desk.store, desk.event_bus, desk.clock, desk.log, desk.metrics, shared());
  desk.clock.advance(minutes(10));
  later.report_silences();
  EXPECT_EQ(published(), std::vector<std::string>{}) << "a server that starts later does not report it again";
  later.poll(agent);
  EXPECT_EQ(published(), std::vector<std::string>{"WORKSPACE_ONLINE"});
}

TEST_F(SharedPresenceTest, TheSilenceOfAnAgentWhoseServerEndedIsReportedByAnother) {
  {
    Presence ended(*desk.store, desk.event_bus, desk.clock, desk.log, desk.metrics, shared());
    ended.poll(agent);
    ended.flush();
  }
  published();
  let_pass(minutes(10));
  EXPECT_EQ(published(), std::vector<std::string>{"WORKSPACE_SILENT"});
}

TEST_F(PresenceTest, ARemovedWorkspaceIsForgottenAlsoWhileItPolls) {
  const auto held = desk.presence.poll(agent);
  ASSERT_TRUE(desk.workspaces.remove(agent));
  desk.clock.advance(minutes(5));
  tick();
  EXPECT_EQ(published(), std::vector<std::string>{"WORKSPACE_ONLINE"});
}

TEST_F(PresenceTest, ReadingWithACursorAcksTheRowsUpToIt) {
  Inbox inbox(*desk.store, desk.presence, desk.event_bus, desk.clock);
  const Principal own{Principal::Role::workspace, agent, {}, false};
  const Principal person{Principal::Role::sender, agent, {}, false};
  std::vector<Appended> rows;
  NewInboxRow row;
  row.activity_type = "agent_log";
  for (int i = 0; i < 5; ++i) rows.push_back(*inbox.append_own_row(agent, row).take());
  const auto acked = [&] {
    desk.presence.flush();
    return desk.store->find_head(agent)->acked_seq;
  };
  const auto read = [&](const Principal& who, const InboxQuery& query) {
    const auto open = inbox.begin_read(who, agent);
    return inbox.read(who, agent, query).has_value();
  };
  InboxQuery query;
  EXPECT_TRUE(read(own, query)) << "without a cursor";
  EXPECT_EQ(acked(), 0);
  query.since_seq = 2;
  EXPECT_TRUE(read(person, query)) << "people handle nothing";
  EXPECT_EQ(acked(), 0);
  EXPECT_TRUE(read(own, query));
  EXPECT_EQ(desk.store->find_head(agent)->acked_seq, 0) << "no separate write";
  EXPECT_EQ(acked(), 2);
  query.since_seq = 1;
  EXPECT_TRUE(read(own, query));
  EXPECT_EQ(acked(), 2) << "never back";
  query.since_seq = 99;
  EXPECT_FALSE(read(own, query)) << "an invalid cursor";
  EXPECT_EQ(acked(), 2);
  query.since_seq.reset();
  query.since_id = rows[3].id;
  EXPECT_TRUE(read(own, query));
  EXPECT_EQ(acked(), 4);
  query.since_id = InboxRowId::make(kStart);
  EXPECT_FALSE(read(own, query));
  EXPECT_EQ(acked(), 4);
}

TEST_F(PresenceTest, PollsAndFlushesFromManyThreadsLoseNoLastPoll) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) desk.presence.poll(agent);
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 20; ++i) tick();
  });
  for (auto& thread : threads) thread.join();
  desk.clock.advance(seconds(1));
  poll();
  EXPECT_FALSE(poll_status().listening);
  desk.presence.flush();
  EXPECT_EQ(desk.store->find_workspace(agent)->last_poll_at, desk.clock.now());
}

TEST_F(PresenceTest, APollMayEndAfterTheDeskIsDestroyed) {
  auto presence = std::make_unique<Presence>(*desk.store, desk.event_bus, desk.clock, desk.log, desk.metrics);
  const auto held = presence->poll(agent);
  presence.reset();
}

}  // namespace
}  // namespace restante::desk
