#include "desk/workspaces/callbacks.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/test_clock.h"

namespace restante::desk {
namespace {

using namespace std::chrono_literals;

const std::string kUrl = "http://agent.example/";

class CallbacksTest : public testing::Test {
 protected:
  std::shared_ptr<Callbacks::Permit> acquire(std::string_view url = kUrl) { return callbacks.acquire(workspace, url); }
  void fail() {
    const auto permit = acquire();
    ASSERT_TRUE(permit);
    permit->failed();
  }
  void succeed() {
    const auto permit = acquire();
    ASSERT_TRUE(permit);
    permit->succeeded();
  }
  void open() {
    for (int i = 0; i < 5; ++i) fail();
  }

  ManualClock clock{Time()};
  double chance = 0;
  Callbacks callbacks{clock, CallbackRules{}, [this] { return chance; }};
  WorkspaceId workspace = WorkspaceId(Uuid::make(Time()));
  WorkspaceId other = WorkspaceId(Uuid::make(Time()));
};

TEST_F(CallbacksTest, FourFailuresInARowDoNotPauseCalls) {
  for (int i = 0; i < 4; ++i) fail();
  EXPECT_TRUE(acquire());
}

TEST_F(CallbacksTest, TheFifthFailureInARowPausesCalls) {
  open();
  EXPECT_FALSE(acquire());
}

TEST_F(CallbacksTest, ASuccessInBetweenStartsTheCountAgain) {
  for (int i = 0; i < 4; ++i) fail();
  succeed();
  for (int i = 0; i < 4; ++i) fail();
  EXPECT_TRUE(acquire());
}

TEST_F(CallbacksTest, AForgottenCallbackStartsWithoutFailuresAndOldCallsDoNotCount) {
  const auto late = acquire();
  open();
  EXPECT_FALSE(acquire());
  callbacks.forget(other);
  EXPECT_FALSE(acquire()) << "the probe is another call's";
  callbacks.forget(workspace);
  EXPECT_TRUE(acquire());
  late->failed();
  for (int i = 0; i < 4; ++i) fail();
  EXPECT_TRUE(acquire());
}

TEST_F(CallbacksTest, APausedCallbackDoesNotAffectOthers) {
  open();
  EXPECT_TRUE(callbacks.acquire(other, kUrl));
}

TEST_F(CallbacksTest, AfterThePauseOneProbeRunsAtATime) {
  open();
  clock.advance(999ms);
  EXPECT_FALSE(acquire());
  clock.advance(1ms);
  const auto probe = acquire();
  ASSERT_TRUE(probe);
  EXPECT_TRUE(probe->is_probe());
  clock.advance(1h);
  EXPECT_FALSE(acquire());
}

TEST_F(CallbacksTest, ASuccessfulProbeEndsThePause) {
  open();
  clock.advance(1s);
  succeed();
  const auto first = acquire();
  const auto second = acquire();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->is_probe());
  first->failed();
  EXPECT_TRUE(acquire());
}

TEST_F(CallbacksTest, EveryFailedProbeDoublesThePauseUpToFiveMinutes) {
  open();
  std::chrono::milliseconds pause = 1s;
  for (int probe = 0; probe < 20; ++probe) {
    clock.advance(pause - 1ms);
    ASSERT_FALSE(acquire()) << probe;
    clock.advance(1ms);
    fail();
    pause = std::min<std::chrono::milliseconds>(pause * 2, 5min);
  }
  EXPECT_EQ(pause, 5min);
}

TEST_F(CallbacksTest, ThePauseStartsSmallAgainAfterASuccess) {
  open();
  for (int i = 0; i < 10; ++i) {
    clock.advance(5min);
    fail();
  }
  clock.advance(5min);
  succeed();
  open();
  clock.advance(1s);
  EXPECT_TRUE(acquire());
}

TEST_F(CallbacksTest, ChanceShortensThePauseByAFifthAtMost) {
  chance = 0.999;
  open();
  clock.advance(799ms);
  EXPECT_FALSE(acquire());
  clock.advance(1ms);
  EXPECT_TRUE(acquire());
}

TEST_F(CallbacksTest, AProbeWithoutAResultAllowsTheNextOne) {
  open();
  clock.advance(1s);
  {
    ASSERT_TRUE(acquire());
  }
  EXPECT_TRUE(acquire());
}

TEST_F(CallbacksTest, FailuresOfCallsThatBeganBeforeThePauseDoNotLengthenIt) {
  std::vector<std::shared_ptr<Callbacks::Permit>> under_way;
  for (int i = 0; i < 30; ++i) under_way.push_back(acquire());
  for (const auto& permit : under_way) permit->failed();
  under_way.clear();
  clock.advance(1s);
  EXPECT_TRUE(acquire());
}

TEST_F(CallbacksTest, ALateSuccessEndsThePause) {
  const auto slow = acquire();
  open();
  EXPECT_FALSE(acquire());
  slow->succeeded();
  EXPECT_TRUE(acquire());
}

TEST_F(CallbacksTest, AnotherUrlStartsWithoutFailures) {
  open();
  EXPECT_FALSE(acquire());
  EXPECT_TRUE(acquire("http://moved.example/"));
}

TEST_F(CallbacksTest, TheWallClockDoesNotMatter) {
  open();
  clock.jump(24h);
  EXPECT_FALSE(acquire());
  clock.jump(-48h);
  clock.advance(1s);
  EXPECT_TRUE(acquire());
}

TEST_F(CallbacksTest, CallsAtOnceAreBoundedPerCallback) {
  std::vector<std::shared_ptr<Callbacks::Permit>> under_way;
  for (int i = 0; i < 64; ++i) under_way.push_back(acquire());
  EXPECT_TRUE(under_way.back());
  EXPECT_FALSE(acquire());
  EXPECT_TRUE(callbacks.acquire(other, kUrl));
  under_way.pop_back();
  EXPECT_TRUE(acquire());
}

TEST_F(CallbacksTest, ManyThreadsGetOneProbe) {
  open();
  clock.advance(1s);
  std::vector<std::shared_ptr<Callbacks::Permit>> got(8);
  {
    std::vector<std::jthread> threads;
    for (auto& slot : got) threads.emplace_back([&] { slot = acquire(); });
  }
  EXPECT_EQ(std::count_if(got.begin(), got.end(), [](const auto& permit) { return permit != nullptr; }), 1);
}

TEST(CallbackChance, IsFromZeroUpToOne) {
  for (int i = 0; i < 1'000; ++i) {
    const double chance = Callbacks::random_chance();
    EXPECT_GE(chance, 0);
    EXPECT_LT(chance, 1);
  }
}

}  // namespace
}  // namespace restante::desk
