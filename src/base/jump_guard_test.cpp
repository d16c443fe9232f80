#include "base/jump_guard.h"

#include <gtest/gtest.h>

#include "base/test_clock.h"

namespace restante {
namespace {

using std::chrono::minutes;

struct JumpGuardTest : ::testing::Test {
  ManualClock clock{Time(std::chrono::seconds(1'800'000'000))};
  JumpGuard guard{clock, minutes(5)};
};

TEST_F(JumpGuardTest, TimeThatPassesIsTrusted) {
  EXPECT_TRUE(guard.believable());
  clock.advance(std::chrono::hours(1000));
  EXPECT_TRUE(guard.believable()) << "however rarely it is asked";
}

TEST_F(JumpGuardTest, SmallCorrectionsAreTrusted) {
  clock.jump(minutes(10));
  EXPECT_TRUE(guard.believable());
  clock.jump(-minutes(10));
  EXPECT_TRUE(guard.believable());
}

TEST_F(JumpGuardTest, AJumpInEitherDirectionIsTrustedAfterTheConfirmPeriod) {
  for (const auto jump : {minutes(11), -minutes(11)}) {
    clock.jump(jump);
    EXPECT_FALSE(guard.believable());
    clock.advance(minutes(4));
    EXPECT_FALSE(guard.believable());
    clock.advance(minutes(1));
    EXPECT_TRUE(guard.believable());
  }
}

TEST_F(JumpGuardTest, ANewJumpRestartsTheConfirmPeriod) {
  clock.jump(std::chrono::hours(24));
  EXPECT_FALSE(guard.believable());
  clock.advance(minutes(4));
  clock.jump(-std::chrono::hours(24));
  EXPECT_FALSE(guard.believable());
  clock.advance(minutes(4));
  EXPECT_FALSE(guard.believable());
  clock.advance(minutes(1));
  EXPECT_TRUE(guard.believable());
}

TEST_F(JumpGuardTest, AJumpThatTheOperatorAcceptsIsTrustedAtOnce) {
  clock.jump(std::chrono::hours(24));
  EXPECT_FALSE(guard.believable());
  clock.accept();
  EXPECT_TRUE(guard.believable());
  clock.jump(std::chrono::hours(24));
  EXPECT_FALSE(guard.believable()) << "the next jump is another one";
}

TEST_F(JumpGuardTest, ATimeThatTheClockDoubtsIsNotTrusted) {
  clock.doubt(clock.now());
  clock.advance(minutes(6));
  EXPECT_FALSE(guard.believable());
  clock.trust();
  EXPECT_TRUE(guard.believable());
}

}  // namespace
}  // namespace restante
