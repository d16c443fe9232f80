#include "desk/presence.h"

#include <gtest/gtest.h>

#include <thread>

#include "desk/test_desk.h"

namespace restante::desk {
namespace {

TEST(Presence, IsWrittenOnceFlushedWithTheLatestPollOfEach) {
  TestDesk desk;
  const WorkspaceId a = desk.make_workspace();
  const WorkspaceId b = desk.make_workspace();
  desk.presence.polled(a, kStart);
  desk.presence.polled(b, kStart);
  desk.presence.polled(a, kStart + std::chrono::seconds(5));
  EXPECT_FALSE(desk.store->find_workspace(a)->last_poll_at);
  desk.presence.flush();
  EXPECT_EQ(desk.store->find_workspace(a)->last_poll_at, kStart + std::chrono::seconds(5));
  EXPECT_EQ(desk.store->find_workspace(b)->last_poll_at, kStart);
}

TEST(Presence, NothingGatheredIsNothingWritten) {
  TestDesk desk;
  const WorkspaceId a = desk.make_workspace();
  desk.presence.flush();
  desk.presence.polled(a, kStart);
  desk.presence.flush();
  desk.presence.flush();
  EXPECT_EQ(desk.store->find_workspace(a)->last_poll_at, kStart);
}

TEST(Presence, APollMakesAnAgentThatOnlyPollsOnline) {
  TestDesk desk;
  const WorkspaceId a = desk.make_workspace();
  EXPECT_EQ(desk.workspaces.find(a)->status, WorkspaceStatus::awaiting_agent);
  desk.presence.polled(a, desk.clock.now());
  desk.presence.flush();
  EXPECT_EQ(desk.workspaces.find(a)->status, WorkspaceStatus::online);
}

TEST(Presence, PollsAndFlushesFromManyThreadsLoseNoLastPoll) {
  TestDesk desk;
  const WorkspaceId a = desk.make_workspace();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) desk.presence.polled(a, kStart + std::chrono::seconds(i));
    });
  }
  threads.emplace_back([&] {
    for (int i = 0; i < 20; ++i) desk.presence.flush();
  });
  for (auto& thread : threads) thread.join();
  desk.presence.flush();
  EXPECT_EQ(desk.store->find_workspace(a)->last_poll_at, kStart + std::chrono::seconds(199));
}

}  // namespace
}  // namespace restante::desk
