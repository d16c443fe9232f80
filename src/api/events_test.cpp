// The streams as they come over the wire, without a socket.
#include <gtest/gtest.h>

#include <algorithm>

#include "api/test_api.h"
#include "base/json.h"

namespace restante::api {
namespace {

class EventsApi : public ::testing::Test {
 protected:
  Answer open(const std::string& target, std::string_view secret, std::optional<std::string> last_event_id = {}) {
    Ask asked;
    asked.target = target;
    asked.bearer(secret);
    if (last_event_id) asked.with("Last-Event-ID", *last_event_id);
    return api.ask(asked);
  }
  static std::string next_text(const Answer& answer) {
    const auto step = answer.stream->next();
    return step ? step->text : "over";
  }
  void notify(std::string_view text) {
    EXPECT_EQ(api.post(api.path("/notify"), api.agent, R"({"message":")" + std::string(text) + R"("})").status, 200);
  }
  bool listens_to(const Answer& answer, const std::string& topic) {
    return std::ranges::find(answer.stream->topics, topic) != answer.stream->topics.end();
  }

  TestApi api;
};

TEST_F(EventsApi, EveryEventHasItsLinesAndAnEmptyOneAfterIt) {
  const Answer stream = open(api.path("/events/stream"), api.agent);
  ASSERT_TRUE(stream.stream);
  EXPECT_EQ(next_text(stream),
            "id: 0\nevent: RESYNC\ndata: {\"workspace_id\":\"" + api.workspace.text() + "\",\"seq\":0}\n\n");
  notify("hello");
  const std::string text = next_text(stream);
  EXPECT_TRUE(text.starts_with("event: AGENT_MESSAGE\ndata: {\"activity_id\":")) << text;
  EXPECT_NE(text.find("\"message\":\"hello\""), std::string::npos) << text;
  EXPECT_NE(text.find("}\n\nid: 1\nevent: ACTIVITY_LOGGED\ndata: {\"activity_id\":"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("}\n\n")) << text;
  EXPECT_EQ(next_text(stream), "");
}

TEST_F(EventsApi, TheHeaderNamesWhereToContinue) {
  notify("a");
  notify("b");
  const Answer stream = open(api.path("/events/stream"), api.sender, "1");
  const std::string text = next_text(stream);
  EXPECT_NE(text.find("\"replayed_from\":1"), std::string::npos) << text;
  EXPECT_EQ(text.find("\"message\":\"a\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"message\":\"b\""), std::string::npos) << text;
}

TEST_F(EventsApi, AStreamListensForItsWorkspaceAndForTheEndOfItsToken) {
  const Answer stream = open(api.path("/events/stream"), api.agent);
  const auto token = api.desk.store->find_token(sha256(api.agent));
  EXPECT_TRUE(listens_to(stream, desk::topic_of(api.workspace)));
  EXPECT_TRUE(listens_to(stream, desk::live_topic_of(api.workspace)));
  EXPECT_TRUE(listens_to(stream, desk::topic_of(token->id)));
  EXPECT_EQ(stream.stream->owner, token->id.text());
  EXPECT_EQ(stream.stream->keep_alive, std::chrono::seconds(15));
  api.desk.revoke(api.agent);
  EXPECT_EQ(next_text(stream), "over");
}

TEST_F(EventsApi, AnUnknownOrRemovedWorkspaceHasNoStream) {
  EXPECT_EQ(open("/workspaces/" + WorkspaceId::make(desk::kStart).text() + "/events/stream", api.admin).status, 404);
  ASSERT_TRUE(api.desk.store->remove_workspace(api.workspace, desk::kStart).take());
  EXPECT_EQ(open(api.path("/events/stream"), api.admin).status, 410);
  EXPECT_EQ(open("/workspaces/junk/events/stream", api.admin).status, 400);
}

TEST_F(EventsApi, TheOperatorGetsTheEventsOfAllWorkspaces) {
  const Answer stream = open("/events/stream", api.admin);
  ASSERT_TRUE(stream.stream);
  EXPECT_EQ(next_text(stream), "event: RESYNC\ndata: {}\n\n");
  EXPECT_TRUE(listens_to(stream, std::string(desk::kAllEventsTopic)));
  notify("hello");
  const std::string text = next_text(stream);
  EXPECT_NE(text.find("event: AGENT_MESSAGE\n"), std::string::npos) << text;
  EXPECT_NE(text.find("event: ACTIVITY_LOGGED\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("id: "), std::string::npos) << text;
}

}  // namespace
}  // namespace restante::api
