#include "desk/callbacks.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace restante::desk {
namespace {

using namespace std::chrono_literals;

const std::string kUrl = "http://agent.example/";

class CallbacksTest : public testing::Test {
 protected:
  std::shared_ptr<Callbacks::Leave> ask(std::string_view url = kUrl) { return callbacks.ask(workspace, url); }
  void fail() {
    const auto leave = ask();
    ASSERT_TRUE(leave);
    leave->failed();
  }
  void succeed() {
    const auto leave = ask();
    ASSERT_TRUE(leave);
    leave->succeeded();
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

TEST_F(CallbacksTest, FourFailuresInARowAreForgiven) {
  for (int i = 0; i < 4; ++i) fail();
  EXPECT_TRUE(ask());
}

TEST_F(CallbacksTest, TheFifthFailureInARowSparesIt) {
  open();
  EXPECT_FALSE(ask());
}

TEST_F(CallbacksTest, ASuccessInBetweenStartsTheCountAgain) {
  for (int i = 0; i < 4; ++i) fail();
  succeed();
  for (int i = 0; i < 4; ++i) fail();
  EXPECT_TRUE(ask());
}

TEST_F(CallbacksTest, OneThatIsForgottenStartsAfreshAndOldCallsTellItNothing) {
  const auto late = ask();
  open();
  EXPECT_FALSE(ask());
  callbacks.forget(other);
  EXPECT_FALSE(ask()) << "somebody else's";
  callbacks.forget(workspace);
  EXPECT_TRUE(ask());
  late->failed();
  for (int i = 0; i < 4; ++i) fail();
  EXPECT_TRUE(ask());
}

TEST_F(CallbacksTest, ASparedOneDoesNotConcernOthers) {
  open();
  EXPECT_TRUE(callbacks.ask(other, kUrl));
}

TEST_F(CallbacksTest, AfterThePauseOneProbeGoesAtATime) {
  open();
  clock.advance(999ms);
  EXPECT_FALSE(ask());
  clock.advance(1ms);
  const auto probe = ask();
  ASSERT_TRUE(probe);
  EXPECT_TRUE(probe->is_probe());
  clock.advance(1h);
  EXPECT_FALSE(ask());
}

TEST_F(CallbacksTest, ASuccessfulProbeClosesIt) {
  open();
  clock.advance(1s);
  succeed();
  const auto first = ask();
  const auto second = ask();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->is_probe());
  first->failed();
  EXPECT_TRUE(ask());
}

TEST_F(CallbacksTest, EveryFailedProbeDoublesThePauseUpToFiveMinutes) {
  open();
  std::chrono::milliseconds pause = 1s;
  for (int probe = 0; probe < 20; ++probe) {
    clock.advance(pause - 1ms);
    ASSERT_FALSE(ask()) << probe;
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
  EXPECT_TRUE(ask());
}

TEST_F(CallbacksTest, ChanceShortensThePauseByAFifthAtMost) {
  chance = 0.999;
  open();
  clock.advance(799ms);
  EXPECT_FALSE(ask());
  clock.advance(1ms);
  EXPECT_TRUE(ask());
}

TEST_F(CallbacksTest, AProbeThatWasNeverDecidedLeavesItsPlaceToTheNext) {
  open();
  clock.advance(1s);
  {
    ASSERT_TRUE(ask());
  }
  EXPECT_TRUE(ask());
}

TEST_F(CallbacksTest, FailuresOfCallsThatBeganBeforeDoNotLengthenThePause) {
  std::vector<std::shared_ptr<Callbacks::Leave>> under_way;
  for (int i = 0; i < 30; ++i) under_way.push_back(ask());
  for (const auto& leave : under_way) leave->failed();
  under_way.clear();
  clock.advance(1s);
  EXPECT_TRUE(ask());
}

TEST_F(CallbacksTest, ALateSuccessEndsTheSparing) {
  const auto slow = ask();
  open();
  EXPECT_FALSE(ask());
  slow->succeeded();
  EXPECT_TRUE(ask());
}

TEST_F(CallbacksTest, AnotherUrlStartsAfresh) {
  open();
  EXPECT_FALSE(ask());
  EXPECT_TRUE(ask("http://moved.example/"));
}

TEST_F(CallbacksTest, TheWallClockDoesNotMatter) {
  open();
  clock.jump(24h);
  EXPECT_FALSE(ask());
  clock.jump(-48h);
  clock.advance(1s);
  EXPECT_TRUE(ask());
}

TEST_F(CallbacksTest, CallsAtOnceAreBoundedPerCallback) {
  std::vector<std::shared_ptr<Callbacks::Leave>> under_way;
  for (int i = 0; i < 64; ++i) under_way.push_back(ask());
  EXPECT_TRUE(under_way.back());
  EXPECT_FALSE(ask());
  EXPECT_TRUE(callbacks.ask(other, kUrl));
  under_way.pop_back();
  EXPECT_TRUE(ask());
}

TEST_F(CallbacksTest, ManyThreadsGetOneProbe) {
  open();
  clock.advance(1s);
  std::vector<std::shared_ptr<Callbacks::Leave>> got(8);
  {
    std::vector<std::jthread> threads;
    for (auto& slot : got) threads.emplace_back([&] { slot = ask(); });
  }
  EXPECT_EQ(std::count_if(got.begin(), got.end(), [](const auto& leave) { return leave != nullptr; }), 1);
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
