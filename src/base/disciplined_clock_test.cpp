#include "base/disciplined_clock.h"

#include <gtest/gtest.h>

namespace restante {
namespace {

using namespace std::chrono_literals;

TEST(DisciplinedClock, IsTheSystemsClockUntilItIsSet) {
  const DisciplinedClock clock;
  EXPECT_FALSE(clock.is_set());
  const Time before = SystemClock().now();
  const Time now = clock.now();
  EXPECT_LE(before, now);
  EXPECT_LE(now, SystemClock().now());
}

TEST(DisciplinedClock, ContinuesFromTheTimeItWasSetToByTheSteadyClock) {
  DisciplinedClock clock;
  const Time other = SystemClock().now() - std::chrono::hours(1000);
  const SteadyTime at = clock.steady();
  clock.set(other, at);
  EXPECT_TRUE(clock.is_set());
  const auto steady = std::chrono::floor<std::chrono::microseconds>(clock.steady() - at);
  EXPECT_GE(clock.now(), other + steady - 1us);
  const Time now = clock.now();
  EXPECT_LE(now, other + std::chrono::ceil<std::chrono::microseconds>(clock.steady() - at) + 1us);
}

TEST(DisciplinedClock, CanBeSetSeveralTimes) {
  DisciplinedClock clock;
  clock.set(Time(1h), clock.steady() - 1h);
  EXPECT_GE(clock.now(), Time(2h));
  clock.set(Time(1h), clock.steady());
  EXPECT_LT(clock.now(), Time(2h));
}

}  // namespace
}  // namespace restante
