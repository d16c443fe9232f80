#include <gtest/gtest.h>

#include "api/test_api.h"
#include "base/json.h"

namespace restante::api {
namespace {

class ChatHistoryApi : public ::testing::Test {
 protected:
  void notify(const std::string& body) { EXPECT_EQ(api.post(api.path("/notify"), api.agent, body).status, 200); }
  void send(const std::string& text) {
    EXPECT_EQ(api.post(api.path("/a2a"), api.sender,
                       R"({"method":"message/send","params":{"message":{"parts":[{"kind":"text","text":")" + text +
                           R"("}]}}})")
                  .status,
              200);
  }
  Answer read(const std::string& query = "") { return api.get(api.path("/chat-history" + query), api.sender); }

  TestApi api;
};

TEST_F(ChatHistoryApi, AnEmptyChatHasReachedItsEnd) { EXPECT_EQ(read().body, R"({"messages":[],"reached_end":true})"); }

TEST_F(ChatHistoryApi, AMessageHasItsFieldsAndAttachmentsOnlyWhenThereAreSome) {
  send("hello");
  notify(
      R"({"message":"look","attachments":[{"uri":"https://example.org/a","name":"a","mimeType":"text/plain","size":3}]})");
  const auto rows = api.desk.inbox_of(api.workspace);
  ASSERT_EQ(rows.size(), 2u);
  const std::string time = format_time(desk::kStart);
  EXPECT_EQ(read().body,
            R"({"messages":[{"id":")" + rows[0].id.text() + R"(","role":"user","content":"hello","timestamp":")" +
                time + R"("},{"id":")" + rows[1].id.text() +
                R"(","role":"agent","content":"look","attachments":[{"uri":"https://example.org/a","name":"a",)" +
                R"("mimeType":"text/plain","size":3}],"timestamp":")" + time + R"("}],"reached_end":true})");
}

TEST_F(ChatHistoryApi, AFileThatTheAgentUploadsAndNamesIsShownOnceAsTheAgents) {
  const auto shown = [&](const std::string& file) {
    notify(R"({"message":"look","attachments":[{"uri":")" + file + R"(","name":"a.txt"}]})");
    const auto page = parse_json(read().body);
    std::string roles;
    for (const Json& message : page->items("messages")) {
      for (const Json& attachment : message.items("attachments")) {
        if (attachment.text("uri") == file) roles += message.text("role") + " ";
      }
    }
    return roles;
  };
  const std::string scheme = "platform-pending:" + api.workspace.text() + "/";
  EXPECT_EQ(shown(scheme + api.upload(api.agent)), "agent ");
  EXPECT_EQ(shown(scheme + api.upload(api.sender)), "user agent ") << "a person's file stays the person's";
}

TEST_F(ChatHistoryApi, AMessageNamesAFileHoweverFarTheTwoAreApart) {
  const std::string scheme = "platform-pending:" + api.workspace.text() + "/";
  const std::string agents = scheme + api.upload(api.agent);
  const std::string persons = scheme + api.upload(api.sender);
  const std::string alone = scheme + api.upload(api.agent);
  api.desk.clock.advance(std::chrono::seconds(1));
  // More than a page looks ahead.
  for (int i = 0; i < 250; ++i) send("in between");
  api.desk.clock.advance(std::chrono::seconds(1));
  notify(R"({"message":"look","attachments":[{"uri":")" + agents + R"(","name":"a.txt"}]})");
  EXPECT_EQ(api.post(api.path("/a2a"), api.sender,
                     R"({"method":"message/send","params":{"message":{"parts":[{"kind":"file","file":{"uri":")" +
                         persons + R"(","name":"a.txt"}}]}}})")
                .status,
            200);
  const std::string oldest = read("?before_ts=" + format_time(desk::kStart + std::chrono::seconds(1))).body;
  EXPECT_EQ(oldest.find(agents), std::string::npos) << "it is the agent's, on the newest page: " << oldest;
  EXPECT_EQ(oldest.find(persons), std::string::npos) << "it is an attachment on the newest page: " << oldest;
  EXPECT_NE(oldest.find(alone), std::string::npos) << "no message names it";
}

TEST_F(ChatHistoryApi, PagesGoBackByTheOldestTimestamp) {
  for (const char* text : {"a", "b", "c"}) {
    send(text);
    api.desk.clock.advance(std::chrono::seconds(1));
  }
  const std::string newest = read("?limit=1").body;
  EXPECT_NE(newest.find(R"("content":"c")"), std::string::npos) << newest;
  EXPECT_TRUE(newest.ends_with(R"("reached_end":false})")) << newest;
  const std::string older = read("?before_ts=" + format_time(desk::kStart + std::chrono::seconds(2))).body;
  EXPECT_EQ(older.find(R"("content":"c")"), std::string::npos) << older;
  EXPECT_TRUE(older.ends_with(R"("reached_end":true})")) << older;
}

TEST_F(ChatHistoryApi, JunkLimitsAreTheUsualAndJunkTimesAreRefused) {
  send("a");
  for (const char* limit : {"0", "-1", "junk", "", "99999999999999999999"}) {
    EXPECT_EQ(read("?limit=" + std::string(limit)).status, 200) << limit;
  }
  for (const char* time : {"", "junk", "2026-01-01", "1767225600", "2026-01-01T00:00:00"}) {
    const Answer answer = read("?before_ts=" + std::string(time));
    EXPECT_EQ(answer.status, 400) << time;
    EXPECT_NE(answer.body.find("before_ts must be an RFC3339 time"), std::string::npos) << answer.body;
  }
}

}  // namespace
}  // namespace restante::api
