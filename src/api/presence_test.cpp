// How a workspace's polling looks from outside.
#include "desk/workspaces/presence.h"

#include <gtest/gtest.h>

#include "api/test_api.h"
#include "base/json.h"

namespace restante::api {
namespace {

using std::chrono::seconds;

struct PresenceApi : ::testing::Test {
  Json workspace() {
    const Answer answer = api.get(api.path(""), api.agent);
    EXPECT_EQ(answer.status, 200);
    return parse_json(answer.body).value();
  }
  std::string member(const char* name) { return workspace().find(name)->dump(); }

  TestApi api;
};

TEST_F(PresenceApi, AnAgentThatNeverPolledIsReportedAsSuch) {
  EXPECT_EQ(member("last_poll_at"), "null");
  EXPECT_EQ(member("usual_poll_gap_seconds"), "null");
  EXPECT_EQ(member("silent_for_seconds"), "null");
  EXPECT_EQ(member("listening"), "false");
  EXPECT_EQ(member("silence"), R"("never polled")");
}

TEST_F(PresenceApi, AnAgentThatPolledEveryFiveSecondsAndNowOnlySendsHeartbeatsIsShownAsSilent) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(api.get(api.path("/activity"), api.agent).status, 200);
    api.desk.clock.advance(seconds(5));
  }
  EXPECT_EQ(member("usual_poll_gap_seconds"), "5");
  EXPECT_EQ(member("silence"), "null");
  api.desk.clock.advance(seconds(7 * 60));
  EXPECT_EQ(api.post("/registry/heartbeat", api.agent, "{}").status, 200);
  EXPECT_EQ(member("status"), R"("online")");
  EXPECT_EQ(member("silent_for_seconds"), "425");
  EXPECT_EQ(member("silence"), R"("silent for 7 min")");
  const Answer list = api.get("/workspaces", api.admin);
  EXPECT_NE(list.body.find(R"("silence":"silent for 7 min")"), std::string::npos);
  EXPECT_EQ(api.get(api.path("/activity"), api.sender).status, 200);
  EXPECT_EQ(member("silence"), R"("silent for 7 min")") << "people who read do not count as polls";
  EXPECT_EQ(api.get(api.path("/activity"), api.agent).status, 200);
  EXPECT_EQ(member("silence"), "null");
}

TEST_F(PresenceApi, AnAgentWithAHeldPollIsListening) {
  Ask asked;
  asked.target = api.path("/activity?since_seq=0&wait=50");
  asked.bearer(api.agent);
  http::Request request;
  ASSERT_FALSE(http::parse_head(
      "GET " + asked.target + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + api.agent + "\r\n\r\n",
      http::Limits(), request));
  const auto match = api.router.match(request);
  ASSERT_FALSE(match.route->admit(request));
  {
    const http::Response held = match.route->handle(request);
    const auto* wait = std::get_if<std::shared_ptr<http::HeldPoll>>(&held.content);
    ASSERT_TRUE(wait);
    EXPECT_FALSE((*wait)->attempt());
    api.desk.clock.advance(seconds(300));
    EXPECT_EQ(member("listening"), "true");
    EXPECT_EQ(member("silence"), "null");
  }
  EXPECT_EQ(member("listening"), "false");
}

TEST_F(PresenceApi, WhenATokenWasLastUsedIsListed) {
  EXPECT_EQ(api.get(api.path(""), api.agent).status, 200);
  api.desk.principals.flush_uses();
  const Answer list = api.get(api.path("/tokens"), api.agent);
  EXPECT_NE(list.body.find(R"("last_used_at":")" + format_time(desk::kStart) + "\""), std::string::npos) << list.body;
}

}  // namespace
}  // namespace restante::api
