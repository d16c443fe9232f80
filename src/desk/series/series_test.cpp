#include "desk/series/series.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "base/test_clock.h"

namespace restante::desk {
namespace {

using namespace std::chrono_literals;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsNan;
using ::testing::SizeIs;

constexpr Time kStart = Time(std::chrono::seconds(1'800'000'000));

class SeriesOfAServer : public ::testing::Test {
 protected:
  void minute() {
    clock.advance(1min);
    series.tick();
  }
  std::vector<double> column(std::string_view name) const {
    const auto at = static_cast<std::size_t>(std::ranges::find(kSeriesColumns, name) - kSeriesColumns.begin());
    std::vector<double> values;
    for (const SeriesRow& row : series.read({})) values.push_back(row.values.at(at));
    return values;
  }
  std::vector<long> minutes() const {
    std::vector<long> all;
    for (const SeriesRow& row : series.read({})) {
      all.push_back(std::chrono::duration_cast<std::chrono::minutes>(row.at - kStart).count());
    }
    return all;
  }

  ManualClock clock{kStart};
  Metrics metrics{BuildInfo{"test", "test", "test"}};
  Series series{metrics, clock, {1min, 4}};
};

TEST_F(SeriesOfAServer, HasNoRowsBeforeThereIsSomethingToCompareWith) {
  EXPECT_THAT(series.read({}), IsEmpty());
  EXPECT_TRUE(std::isnan(series.running().values[0]));
  series.tick();
  EXPECT_THAT(series.read({}), IsEmpty());
  EXPECT_EQ(series.running().values[0], 0);
}

TEST_F(SeriesOfAServer, CountersAreIncreasesSinceTheRowBeforeAndGaugesPresentValues) {
  series.tick();
  metrics.uploads_staged.Increment(3);
  metrics.held_polls.Set(7);
  metrics.swept("expired").Increment(2);
  metrics.http_responses("4xx").Increment(5);
  metrics.http_responses("2xx").Increment(1);
  minute();
  metrics.uploads_staged.Increment();
  minute();
  EXPECT_THAT(column("staged"), ElementsAre(3, 1));
  EXPECT_THAT(column("held_polls"), ElementsAre(7, 7));
  EXPECT_THAT(column("expired"), ElementsAre(2, 0));
  EXPECT_THAT(column("errors_4xx"), ElementsAre(5, 0));
  EXPECT_THAT(column("requests"), ElementsAre(6, 0));
}

TEST_F(SeriesOfAServer, TheRunningRowIsNotStored) {
  series.tick();
  metrics.uploads_acked.Increment(2);
  EXPECT_EQ(series.running().values[2], 2);
  EXPECT_EQ(series.running().values[2], 2);
  EXPECT_THAT(series.read({}), IsEmpty());
  minute();
  EXPECT_EQ(series.running().values[2], 0);
}

TEST_F(SeriesOfAServer, KeepsTheLastRowsInOrderAndNoMore) {
  series.tick();
  for (int i = 0; i < 9; ++i) minute();
  EXPECT_THAT(minutes(), ElementsAre(6, 7, 8, 9));
}

TEST_F(SeriesOfAServer, ReturnsOnlyLaterRows) {
  series.tick();
  for (int i = 0; i < 5; ++i) minute();
  EXPECT_THAT(series.read(kStart + 4min), SizeIs(1));
  EXPECT_THAT(series.read(kStart + 5min), IsEmpty());
}

TEST_F(SeriesOfAServer, ASleepLeavesAGapAndNoZeroes) {
  series.tick();
  minute();
  metrics.uploads_staged.Increment(4);
  clock.jump(8h);  // the steady clock stands still while a laptop sleeps
  minute();
  EXPECT_THAT(minutes(), ElementsAre(1, 2, 8 * 60 + 2));
  EXPECT_THAT(column("staged"), ElementsAre(0, IsNan(), 4));
  EXPECT_THAT(column("held_polls"), ElementsAre(0, IsNan(), 0));
}

TEST_F(SeriesOfAServer, ALateTickIsAGapToo) {
  series.tick();
  minute();
  clock.advance(10min);
  series.tick();
  EXPECT_THAT(minutes(), ElementsAre(1, 2, 11));
}

TEST_F(SeriesOfAServer, AClockThatIsSetBackMovesTheOlderRows) {
  series.tick();
  metrics.uploads_staged.Increment(4);
  minute();
  clock.jump(-1h);
  minute();
  EXPECT_THAT(minutes(), ElementsAre(-59, -58));
  EXPECT_THAT(column("staged"), ElementsAre(4, 0));
}

TEST_F(SeriesOfAServer, AClockThatIsSetBackALittleDoesNotMoveRows) {
  series.tick();
  minute();
  clock.jump(-500ms);
  minute();
  EXPECT_EQ(series.read({}).front().at, kStart + 1min);
}

TEST_F(SeriesOfAServer, HasTheDeliveryTimesOfItsMinute) {
  metrics.upload_delivery.Observe(80'000);  // before the first row: not counted
  series.tick();
  for (int i = 0; i < 98; ++i) metrics.upload_delivery.Observe(0.2);
  metrics.upload_delivery.Observe(8);
  metrics.upload_delivery.Observe(8);
  minute();
  minute();
  EXPECT_THAT(column("delivery_p50"), ElementsAre(DoubleNear(0.2, 0.1), IsNan()));
  EXPECT_THAT(column("delivery_p95"), ElementsAre(DoubleNear(0.2, 0.1), IsNan()));
  EXPECT_THAT(column("delivery_p99"), ElementsAre(DoubleNear(8, 3), IsNan()));
}

TEST(Percentile, IsOnAStraightLineWithinItsBucket) {
  const std::vector<double> bounds = {1, 2, 4};
  EXPECT_DOUBLE_EQ(percentile(bounds, {10, 20, 20, 20}, 0.5), 1);
  EXPECT_DOUBLE_EQ(percentile(bounds, {10, 20, 20, 20}, 0.75), 1.5);
  EXPECT_DOUBLE_EQ(percentile(bounds, {0, 0, 4, 4}, 0.5), 3);
  EXPECT_DOUBLE_EQ(percentile(bounds, {10, 20, 20, 20}, 0.25), 0.5);
}

TEST(Percentile, BeyondTheLastBoundIsTheLastBoundAndWithoutValuesUnknown) {
  EXPECT_DOUBLE_EQ(percentile({1, 2}, {0, 0, 5}, 0.99), 2);
  EXPECT_TRUE(std::isnan(percentile({1, 2}, {0, 0, 0}, 0.5)));
  EXPECT_TRUE(std::isnan(percentile({}, {}, 0.5)));
  EXPECT_TRUE(std::isnan(percentile({}, {3}, 0.5)));
}

}  // namespace
}  // namespace restante::desk
