#include "desk/strikes.h"

#include <gtest/gtest.h>

#include "desk/test_desk.h"

namespace restante::desk {
namespace {

using std::chrono::seconds;

TEST(Strikes, BeyondTheAllowanceOneIsToldHowLongToWait) {
  ManualClock clock(kStart);
  Strikes strikes(clock, 3);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(strikes.strike("192.0.2.1"));
  clock.advance(seconds(20));
  EXPECT_EQ(strikes.strike("192.0.2.1"), seconds(40));
  clock.advance(std::chrono::milliseconds(39'500));
  EXPECT_EQ(strikes.strike("192.0.2.1"), seconds(1)) << "never zero while it is refused";
  clock.advance(std::chrono::milliseconds(500));
  EXPECT_FALSE(strikes.strike("192.0.2.1")) << "a new minute";
}

TEST(Strikes, EveryAddressHasItsOwn) {
  ManualClock clock(kStart);
  Strikes strikes(clock, 1);
  EXPECT_FALSE(strikes.strike("192.0.2.1"));
  EXPECT_TRUE(strikes.strike("192.0.2.1"));
  EXPECT_FALSE(strikes.strike("192.0.2.2"));
}

TEST(Strikes, ASetWallClockForgivesNothing) {
  ManualClock clock(kStart);
  Strikes strikes(clock, 1);
  EXPECT_FALSE(strikes.strike("192.0.2.1"));
  clock.jump(std::chrono::hours(1));
  EXPECT_TRUE(strikes.strike("192.0.2.1"));
}

TEST(Strikes, OnlySoManyAddressesAreRememberedAndTheQuietestIsForgotten) {
  ManualClock clock(kStart);
  Strikes strikes(clock, 1, 2);
  EXPECT_FALSE(strikes.strike("a"));
  EXPECT_FALSE(strikes.strike("b"));
  EXPECT_TRUE(strikes.strike("a"));
  EXPECT_FALSE(strikes.strike("c")) << "b goes";
  EXPECT_TRUE(strikes.strike("a"));
  EXPECT_FALSE(strikes.strike("b"));
}

}  // namespace
}  // namespace restante::desk
