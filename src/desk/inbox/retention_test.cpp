#include "desk/inbox/retention.h"

#include <gtest/gtest.h>

#include "desk/test_desk.h"

namespace restante::desk {
namespace {

using std::chrono::hours;
using Days = std::chrono::duration<int, std::ratio<86'400>>;

struct RetentionTest : ::testing::Test {
  void append(const char* type, int times = 1) {
    NewInboxRow row;
    row.activity_type = type;
    for (int i = 0; i < times; ++i) ASSERT_TRUE(desk.store->append_to_inbox(workspace, row, desk.clock.now()).take());
  }
  std::size_t rows() { return desk.inbox_of(workspace).size(); }
  Retention make(RetentionRules rules = {}) { return {*desk.store, desk.clock, desk.log, desk.metrics, rules}; }

  TestDesk desk;
  WorkspaceId workspace = desk.make_workspace();
};

TEST_F(RetentionTest, TheFirstTickAfterTheStartPrunesInBoundedSteps) {
  append("agent_log", 25);
  desk.clock.advance(Days(91));
  append("agent_log", 2);
  auto retention = make({hours(90 * 24), hours(365 * 24), 4});
  retention.tick();
  EXPECT_EQ(rows(), 2u);
  EXPECT_EQ(desk.metrics.activity_pruned.Value(), 25);
}

TEST_F(RetentionTest, UnackedRowsAreKeptUntilTheCeiling) {
  append("a2a_receive");
  desk.clock.advance(Days(364));
  make().tick();
  EXPECT_EQ(rows(), 1u);
  desk.clock.advance(Days(2));
  make().tick();
  EXPECT_EQ(rows(), 0u);
}

TEST_F(RetentionTest, APassBeginsEveryHour) {
  auto retention = make({std::chrono::minutes(90), hours(4), 10});
  retention.tick();
  append("agent_log");
  for (int i = 0; i < 11; ++i) {
    desk.clock.advance(std::chrono::minutes(10));
    retention.tick();
  }
  EXPECT_EQ(rows(), 1u) << "old enough, but this hour's pass is over";
  desk.clock.advance(std::chrono::minutes(10));
  retention.tick();
  EXPECT_EQ(rows(), 0u);
}

TEST_F(RetentionTest, AfterAClockJumpNothingIsPrunedForAnHour) {
  auto retention = make();
  append("agent_log");
  desk.clock.advance(hours(2));
  desk.clock.jump(Days(400));
  for (int i = 0; i < 5; ++i) {
    retention.tick();
    desk.clock.advance(std::chrono::minutes(10));
  }
  EXPECT_EQ(rows(), 1u);
  desk.clock.jump(-Days(400));
  for (int i = 0; i < 20; ++i) {
    retention.tick();
    desk.clock.advance(std::chrono::minutes(10));
  }
  EXPECT_EQ(rows(), 1u) << "it was set back";
  desk.clock.jump(Days(400));
  for (int i = 0; i < 20; ++i) {
    retention.tick();
    desk.clock.advance(std::chrono::minutes(10));
  }
  EXPECT_EQ(rows(), 0u) << "the new time is right";
}

}  // namespace
}  // namespace restante::desk
