#include "desk/clock/clock_check.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/test_clock.h"

namespace restante::desk {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kDay = 24h;
constexpr Time kNow = Time(std::chrono::seconds(1'800'000'000));

class PlainClockStore final : public ClockStore {
 public:
  std::optional<Time> find_clock() override {
    if (!reachable) throw Unavailable("no database");
    return seen;
  }
  Commit<Result<void>> record_clock(Time trusted) override {
    seen = trusted;
    return Commit<Result<void>>::ready({});
  }

  std::optional<Time> seen;
  bool reachable = true;
};

struct ClockCheckTest : testing::Test {
  ClockCheck check(std::optional<Time> newest_file = {}) {
    ClockCheckRules rules;
    rules.newest_file = newest_file;
    rules.differences = [this] { return differences; };
    return {store, clock, log, metrics, std::move(rules)};
  }
  // As the loop does: time passes, and the check looks every second.
  void pass(ClockCheck& checked, std::chrono::seconds time) {
    for (auto passed = 0s; passed < time; passed += 1s) {
      clock.advance(1s);
      checked.tick();
    }
  }

  ManualClock clock{kNow};
  Fd nowhere{::dup(STDERR_FILENO)};
  Log log{nowhere.get(), LogLevel::error, clock};
  Metrics metrics{BuildInfo{"test", "test", "test"}};
  PlainClockStore store;
  ClockDifferences differences;
};

TEST_F(ClockCheckTest, NewDataIsTrustedAndTheTimeIsRecordedEveryMinute) {
  ClockCheck checked = check();
  checked.tick();
  EXPECT_TRUE(clock.trusted());
  EXPECT_THAT(checked.doubt(), IsEmpty());
  EXPECT_EQ(store.seen, kNow);
  pass(checked, 59s);
  EXPECT_EQ(store.seen, kNow);
  pass(checked, 1s);
  EXPECT_EQ(store.seen, kNow + 1min);
}

TEST_F(ClockCheckTest, AStartAheadOfTheNewestStoredTimeIsTrustedAfterTenConsistentMinutes) {
  store.seen = kNow - 40 * kDay;
  ClockCheck checked = check();
  checked.tick();
  EXPECT_FALSE(clock.trusted());
  EXPECT_EQ(metrics.clock_trusted.Value(), 0);
  EXPECT_THAT(checked.doubt(), HasSubstr("40 days ahead"));
  EXPECT_THAT(checked.doubt(), HasSubstr("restante clock accept"));
  EXPECT_EQ(clock.expiry_time(), kNow - 40 * kDay) << "nothing expires";
  pass(checked, 599s);
  EXPECT_FALSE(clock.trusted());
  EXPECT_EQ(store.seen, kNow - 40 * kDay) << "a time in doubt is not recorded";
  pass(checked, 1s);
  EXPECT_TRUE(clock.trusted());
  EXPECT_EQ(metrics.clock_trusted.Value(), 1);
  EXPECT_THAT(checked.doubt(), IsEmpty());
  EXPECT_EQ(clock.expiry_time(), clock.now());
  EXPECT_EQ(store.seen, clock.now());
}

TEST_F(ClockCheckTest, ARestartWithinTheTenMinutesBeginsThemAnew) {
  store.seen = kNow - 40 * kDay;
  ClockCheck first = check();
  first.tick();
  pass(first, 599s);
  ClockCheck second = check(clock.now());
  second.tick();
  pass(second, 599s);
  EXPECT_FALSE(clock.trusted()) << "the files that the first one wrote prove nothing";
  pass(second, 1s);
  EXPECT_TRUE(clock.trusted());
}

TEST_F(ClockCheckTest, AStartBehindTheNewestTimeIsInDoubtAndAgreesOnceTheClockIsSetRight) {
  store.seen = kNow;
  clock.jump(-40 * kDay);
  ClockCheck checked = check();
  checked.tick();
  EXPECT_THAT(checked.doubt(), HasSubstr("40 days behind"));
  EXPECT_EQ(clock.expiry_time(), clock.now());
  EXPECT_EQ(clock.lifetime_start(), kNow) << "what comes meanwhile is kept";
  clock.jump(40 * kDay);
  pass(checked, 1s);
  EXPECT_TRUE(clock.trusted());
}

TEST_F(ClockCheckTest, TheFilesOfTheDatabaseCountWhereTheStoreKnowsNoTime) {
  ClockCheck checked = check(kNow - 3 * kDay);
  checked.tick();
  EXPECT_THAT(checked.doubt(), HasSubstr("3 days ahead"));
}

TEST_F(ClockCheckTest, AFileThatIsNewerThanTheClockIsADoubt) {
  store.seen = kNow;
  ClockCheck checked = check(kNow + 2 * kDay);
  checked.tick();
  EXPECT_THAT(checked.doubt(), HasSubstr("2 days behind"));
}

TEST_F(ClockCheckTest, AClockThatIsSetWhileTheServerRunsIsInDoubtFromTheLastTimeBefore) {
  ClockCheck checked = check();
  checked.tick();
  pass(checked, 10s);
  clock.jump(2 * kDay);
  checked.tick();
  EXPECT_THAT(checked.doubt(), HasSubstr("set ahead by 2 days"));
  EXPECT_EQ(clock.expiry_time(), kNow + 10s);
  pass(checked, 300s);
  clock.jump(-kDay);
  pass(checked, 599s);
  EXPECT_FALSE(clock.trusted()) << "the second jump begins the ten minutes anew";
  EXPECT_EQ(clock.expiry_time(), kNow + 10s) << "still the last trusted time";
  pass(checked, 2s);
  EXPECT_TRUE(clock.trusted());
}

TEST_F(ClockCheckTest, OtherClocksThatDisagreeAreADoubtUntilTheyAgreeOrTheOperatorAccepts) {
  differences.database = -3h;
  ClockCheck checked = check();
  checked.tick();
  EXPECT_THAT(checked.doubt(), HasSubstr("database differ by 3 hours"));
  pass(checked, 1200s);
  EXPECT_FALSE(clock.trusted()) << "it is not consistent, however long that lasts";
  EXPECT_THAT(checked.accept(), HasSubstr("3 hours"));
  EXPECT_TRUE(clock.trusted());
  pass(checked, 100s);
  EXPECT_TRUE(clock.trusted()) << "the difference was accepted";
}

TEST_F(ClockCheckTest, WhatTheOperatorAcceptsIsTrustedAtOnceAndAfterARestart) {
  store.seen = kNow - 40 * kDay;
  ClockCheck checked = check();
  checked.tick();
  EXPECT_THAT(checked.accept(), HasSubstr("40 days"));
  EXPECT_TRUE(clock.trusted());
  EXPECT_THAT(checked.doubt(), IsEmpty());
  EXPECT_THAT(checked.accept(), IsEmpty()) << "there is nothing left to accept";
  ClockCheck next = check(kNow);
  next.tick();
  EXPECT_TRUE(clock.trusted());
}

TEST_F(ClockCheckTest, AStartWithoutADatabaseIsInDoubtUntilItCanCompare) {
  store.seen = kNow - 1min;
  store.reachable = false;
  ClockCheck checked = check();
  EXPECT_THROW(checked.tick(), Unavailable);
  EXPECT_FALSE(clock.trusted());
  store.reachable = true;
  checked.tick();
  EXPECT_TRUE(clock.trusted());
}

}  // namespace
}  // namespace restante::desk
