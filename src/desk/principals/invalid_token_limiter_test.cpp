#include "desk/principals/invalid_token_limiter.h"

#include <gtest/gtest.h>

#include "base/test_clock.h"
#include "desk/test_desk.h"

namespace restante::desk {
namespace {

using std::chrono::seconds;

TEST(InvalidTokenLimiter, BeyondTheLimitTheAnswerIsHowLongToWait) {
  ManualClock clock(kStart);
  InvalidTokenLimiter invalid_token_limiter(clock, 3);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(invalid_token_limiter.count_invalid("192.0.2.1"));
  clock.advance(seconds(20));
  EXPECT_EQ(invalid_token_limiter.count_invalid("192.0.2.1"), seconds(40));
  clock.advance(std::chrono::milliseconds(39'500));
  EXPECT_EQ(invalid_token_limiter.count_invalid("192.0.2.1"), seconds(1)) << "never zero while it is refused";
  clock.advance(std::chrono::milliseconds(500));
  EXPECT_FALSE(invalid_token_limiter.count_invalid("192.0.2.1")) << "a new minute";
}

TEST(InvalidTokenLimiter, EveryAddressHasASeparateLimit) {
  ManualClock clock(kStart);
  InvalidTokenLimiter invalid_token_limiter(clock, 1);
  EXPECT_FALSE(invalid_token_limiter.count_invalid("192.0.2.1"));
  EXPECT_TRUE(invalid_token_limiter.count_invalid("192.0.2.1"));
  EXPECT_FALSE(invalid_token_limiter.count_invalid("192.0.2.2"));
}

TEST(InvalidTokenLimiter, ASetWallClockResetsNothing) {
  ManualClock clock(kStart);
  InvalidTokenLimiter invalid_token_limiter(clock, 1);
  EXPECT_FALSE(invalid_token_limiter.count_invalid("192.0.2.1"));
  clock.jump(std::chrono::hours(1));
  EXPECT_TRUE(invalid_token_limiter.count_invalid("192.0.2.1"));
}

TEST(InvalidTokenLimiter, TheNumberOfAddressesIsBoundedAndTheLeastRecentIsForgotten) {
  ManualClock clock(kStart);
  InvalidTokenLimiter invalid_token_limiter(clock, 1, 2);
  EXPECT_FALSE(invalid_token_limiter.count_invalid("a"));
  EXPECT_FALSE(invalid_token_limiter.count_invalid("b"));
  EXPECT_TRUE(invalid_token_limiter.count_invalid("a"));
  EXPECT_FALSE(invalid_token_limiter.count_invalid("c")) << "b is forgotten";
  EXPECT_TRUE(invalid_token_limiter.count_invalid("a"));
  EXPECT_FALSE(invalid_token_limiter.count_invalid("b"));
}

}  // namespace
}  // namespace restante::desk
