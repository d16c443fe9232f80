#include "model/clock_rules.h"

#include <gmock/gmock.h>

namespace restante {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Time kNow = Time(std::chrono::seconds(1'800'000'000));

TEST(ClockRules, AStartFarFromTheNewestKnownTimeIsInDoubt) {
  EXPECT_THAT(doubt_at_start(kNow, kNow), IsEmpty());
  EXPECT_THAT(doubt_at_start(kNow, kNow - 10min), IsEmpty());
  EXPECT_THAT(doubt_at_start(kNow, kNow + 10min), IsEmpty());
  EXPECT_THAT(doubt_at_start(kNow, kNow - 10min - 1us), HasSubstr("10 minutes ahead of the newest time in the store"));
  EXPECT_THAT(doubt_at_start(kNow, kNow - 40 * 24h), HasSubstr("40 days ahead"));
  EXPECT_THAT(doubt_at_start(kNow, kNow + 5h), HasSubstr("5 hours behind"));
}

TEST(ClockRules, ATimeThatMovesMoreThanTimeHasPassedIsInDoubt) {
  EXPECT_THAT(doubt_after_jump(10min), IsEmpty());
  EXPECT_THAT(doubt_after_jump(11min), HasSubstr("set ahead by 11 minutes"));
  EXPECT_THAT(doubt_after_jump(-48h), HasSubstr("set back by 2 days"));
}

TEST(ClockRules, ClocksThatDisagreeAreInDoubtUntilTheOperatorAcceptsIt) {
  EXPECT_THAT(doubt_about({}, {}), IsEmpty());
  EXPECT_THAT(doubt_about({10min, -10min}, {}), IsEmpty());
  EXPECT_THAT(doubt_about({-1h, 0us}, {}), HasSubstr("database differ by 60 minutes"));
  EXPECT_THAT(doubt_about({0us, 3h}, {}), HasSubstr("file system"));
  EXPECT_THAT(doubt_about({-1h, 3h}, {-1h, 3h}), IsEmpty());
  EXPECT_THAT(doubt_about({1h, 3h}, {-1h, 3h}), HasSubstr("database"));
}

}  // namespace
}  // namespace restante
