#include "desk/events/event_bus.h"

#include <gtest/gtest.h>

#include "desk/test_desk.h"

namespace restante::desk {
namespace {

const WorkspaceId kOne = WorkspaceId::make(kStart);
const WorkspaceId kOther = WorkspaceId::make(kStart);

class EventBusTest : public ::testing::Test {
 protected:
  RecordingBell bell;
  EventBus event_bus{bell};
};

TEST_F(EventBusTest, ARowRingsItsWorkspaceWithAndWithoutSubscribers) {
  event_bus.appended(kOne, {});
  EXPECT_EQ(bell.rung(), std::vector<std::string>{topic_of(kOne)});
  EXPECT_EQ(event_bus.last(), 0u);
}

TEST_F(EventBusTest, ASubscriberGetsTheEventsSinceANumber) {
  const EventBus::EventSubscription watch(event_bus);
  event_bus.publish(kOne, "UPLOAD_FETCHED", "{}");
  const auto seen = event_bus.since(0, std::nullopt);
  event_bus.appended(kOther, {InboxRowId::make(kStart), 7});
  const auto fresh = event_bus.since(seen.last, std::nullopt);
  ASSERT_EQ(fresh.items.size(), 1u);
  EXPECT_EQ(fresh.items[0].seq, 7);
  EXPECT_FALSE(fresh.missed);
  ASSERT_EQ(event_bus.since(0, kOne).items.size(), 1u);
  EXPECT_EQ(event_bus.since(0, kOne).items[0].name, "UPLOAD_FETCHED");
}

TEST_F(EventBusTest, NothingIsRememberedWithoutSubscribers) {
  {
    const EventBus::EventSubscription watch(event_bus);
  }
  event_bus.publish(kOne, "UPLOAD_FETCHED", "{}");
  EXPECT_EQ(event_bus.last(), 0u);
}

TEST_F(EventBusTest, ASubscriberThatFellTooFarBehindGetsMissed) {
  const EventBus::EventSubscription watch(event_bus);
  event_bus.publish(kOne, "WORKSPACE_ONLINE", "{}");
  const auto seen = event_bus.since(0, std::nullopt);
  for (int i = 0; i < 5000; ++i) event_bus.publish(kOne, "UPLOAD_FETCHED", "{}");
  EXPECT_TRUE(event_bus.since(seen.last, std::nullopt).missed);
  EXPECT_FALSE(event_bus.since(event_bus.last(), std::nullopt).missed);
}

TEST_F(EventBusTest, APageIsBoundedAndTheNextContinuesWhereItEnded) {
  const EventBus::EventSubscription watch(event_bus);
  for (int i = 0; i < 7; ++i) {
    event_bus.publish(kOne, "UPLOAD_FETCHED", std::to_string(i));
    event_bus.publish(kOther, "UPLOAD_FETCHED", "other");
  }
  std::string publish_remote;
  std::uint64_t last = 0;
  for (bool more = true; more;) {
    const auto page = event_bus.since(last, kOne, 3);
    EXPECT_LE(page.items.size(), 3u);
    for (const auto& item : page.items) publish_remote += item.data;
    last = page.last;
    more = page.more;
  }
  EXPECT_EQ(publish_remote, "0123456");
  EXPECT_EQ(last, event_bus.last());
  EXPECT_TRUE(event_bus.since(last, std::nullopt).items.empty());
}

}  // namespace
}  // namespace restante::desk
