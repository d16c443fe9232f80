#include "desk/events/other_servers.h"

#include <gmock/gmock.h>

#include "base/test_clock.h"
#include "desk/principals/tokens.h"
#include "desk/test_desk.h"

namespace restante::desk {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const WorkspaceId kOne = WorkspaceId::make(kStart);

class OtherServersTest : public ::testing::Test {
 protected:
  template <class Call>
  void announce(Call call) {
    announcements.notify_subscriber(call);
  }

  ManualClock clock{kStart};
  DevNull dev_null;
  Log log{dev_null.fd, LogLevel::debug, clock};
  Announcements announcements;
  RecordingBell bell;
  EventBus event_bus{bell, &announcements};
  int read_again = 0;
  OtherServers other_servers{announcements, event_bus, bell, log, [this] { ++read_again; }};
};

TEST_F(OtherServersTest, ARowAppendedByAnotherServerRingsItsWorkspace) {
  announce([](auto& subscriber) { subscriber.appended(kOne, 3, 5); });
  EXPECT_THAT(bell.rung(), ElementsAre(topic_of(kOne)));
}

TEST_F(OtherServersTest, ASubscriberGetsEveryRowButNotThousands) {
  const EventBus::EventSubscription watch(event_bus);
  announce([](auto& subscriber) { subscriber.appended(kOne, 3, 5); });
  const auto page = event_bus.since(0, std::nullopt);
  ASSERT_EQ(page.items.size(), 3u);
  EXPECT_EQ(page.items.front().seq, 3);
  EXPECT_EQ(page.items.back().seq, 5);
  announce([](auto& subscriber) { subscriber.appended(kOne, 6, 100'000); });
  const auto more = event_bus.since(page.last, std::nullopt, 1'000);
  ASSERT_EQ(more.items.size(), 100u);
  EXPECT_EQ(more.items.back().seq, 100'000);
}

TEST_F(OtherServersTest, ChangesAndRevokedTokensRing) {
  const TokenId token = TokenId::make(kStart);
  announce([&](auto& subscriber) {
    subscriber.changed(kOne);
    subscriber.revoked(token);
  });
  EXPECT_THAT(bell.rung(2), ElementsAre(topic_of(kOne), topic_of(token)));
}

TEST_F(OtherServersTest, EventsOfOtherServersArePublishedHereAndNotSentBack) {
  std::vector<std::string> sent;
  announcements.set_sender([&](const TransientEvent& event) { sent.push_back(event.name); });
  EXPECT_FALSE(other_servers.wants_events());
  const EventBus::EventSubscription watch(event_bus);
  EXPECT_TRUE(other_servers.wants_events());
  announce([](auto& subscriber) { subscriber.publish({kOne, "UPLOAD_FETCHED", "{}"}); });
  const auto page = event_bus.since(0, kOne);
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].name, "UPLOAD_FETCHED");
  EXPECT_THAT(sent, IsEmpty());
  event_bus.publish(kOne, "WORKSPACE_ONLINE", "{}");
  EXPECT_THAT(sent, ElementsAre("WORKSPACE_ONLINE"));
}

TEST_F(OtherServersTest, WhileDisconnectedHeldPollsAreReleasedAndAfterwardsAllStreamsReadAgain) {
  const EventBus::EventSubscription watch(event_bus);
  event_bus.publish(kOne, "WORKSPACE_ONLINE", "{}");
  const auto seen = event_bus.since(0, std::nullopt);
  bell.rung();
  announce([](auto& subscriber) { subscriber.disconnected(); });
  EXPECT_THAT(bell.rung(), ElementsAre("release"));
  EXPECT_EQ(read_again, 0);
  announce([](auto& subscriber) { subscriber.reconnected(); });
  EXPECT_THAT(bell.rung(), ElementsAre("*"));
  EXPECT_EQ(read_again, 1) << "the database may be another one";
  EXPECT_TRUE(event_bus.since(seen.last, std::nullopt).missed) << "a stream begins again";
}

}  // namespace
}  // namespace restante::desk
