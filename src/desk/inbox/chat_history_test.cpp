#include "desk/inbox/chat_history.h"

#include <gmock/gmock.h>

#include "desk/test_desk.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ChatHistoryTest : public ::testing::Test {
 protected:
  Appended append(NewInboxRow row) {
    if (!row.target_id) row.target_id = workspace;
    return *desk.store->append_to_inbox(workspace, row, desk.clock.now()).take();
  }
  static std::string file_part(const std::string& uri) {
    return R"({"kind":"file","file":{"uri":")" + uri + R"(","name":"a.txt"}})";
  }
  Appended person_sends(const std::string& text, const std::string& more_parts = "") {
    NewInboxRow row;
    row.activity_type = "a2a_receive";
    row.method = "message/send";
    row.request_body = R"({"params":{"message":{"parts":[{"kind":"text","text":")" + text + R"("})" +
                       (more_parts.empty() ? "" : "," + more_parts) + "]}}}";
    return append(row);
  }
  Appended agent_sends(const std::string& text, const std::string& parts = "") {
    NewInboxRow row;
    row.activity_type = "a2a_receive";
    row.method = "notify";
    row.response_body = R"({"result":")" + text + R"(","parts":[)" + parts + "]}";
    return append(row);
  }
  // Appends an upload's row as staging writes it; returns its uri.
  std::string upload_comes(const std::string& more = "") {
    const FileId id = FileId::make(desk.clock.now());
    NewInboxRow row;
    row.activity_type = "a2a_receive";
    row.method = "chat_upload_receive";
    row.request_body =
        R"({"file_id":")" + id.text() + R"(","name":"a.txt","mimeType":"text/plain","size":3)" + more + "}";
    append(row);
    return pending_uri(workspace, id);
  }
  void later() { desk.clock.advance(std::chrono::seconds(1)); }
  ChatPage read(int limit = 0, std::optional<Time> before = {}) { return *history.read(workspace, limit, before); }
  static std::vector<std::string> contents(const ChatPage& page) {
    std::vector<std::string> all;
    for (const auto& message : page.messages) all.push_back(message.content);
    return all;
  }
  // All pages, from the newest to the oldest, as a client reads them.
  std::vector<std::string> walk(int limit) {
    std::vector<std::string> all;
    std::optional<Time> before;
    for (;;) {
      const ChatPage page = read(limit, before);
      const auto contents_of_page = contents(page);
      all.insert(all.begin(), contents_of_page.begin(), contents_of_page.end());
      if (page.reached_end) return all;
      if (page.messages.empty() || page.messages.front().timestamp == before) {
        ADD_FAILURE() << "the walk makes no progress";
        return all;
      }
      before = page.messages.front().timestamp;
    }
  }

  TestDesk desk;
  WorkspaceId workspace = desk.make_workspace();
  ChatHistory history{*desk.store};
};

TEST_F(ChatHistoryTest, PeopleAreUsersAndTheAgentIsTheAgentOldestFirst) {
  const auto asked = person_sends("hello");
  later();
  const auto answered = agent_sends("good day");
  const ChatPage page = read();
  ASSERT_EQ(page.messages.size(), 2u);
  EXPECT_TRUE(page.reached_end);
  EXPECT_EQ(page.messages[0].id, asked.id.text());
  EXPECT_EQ(page.messages[0].role, ChatMessage::Role::user);
  EXPECT_EQ(page.messages[0].content, "hello");
  EXPECT_EQ(page.messages[0].timestamp, kStart);
  EXPECT_EQ(page.messages[1].id, answered.id.text());
  EXPECT_EQ(page.messages[1].role, ChatMessage::Role::agent);
  EXPECT_EQ(page.messages[1].content, "good day");
}

TEST_F(ChatHistoryTest, MessagesBetweenAgentsAreNotInIt) {
  NewInboxRow row;
  row.activity_type = "a2a_receive";
  row.method = "message/send";
  row.source_id = desk.make_workspace();
  row.request_body = R"({"params":{"message":{"parts":[{"kind":"text","text":"psst"}]}}})";
  append(row);
  row.source_id.reset();
  row.activity_type = "a2a_send";
  row.target_id = desk.make_workspace();
  append(row);
  row.activity_type = "agent_log";
  append(row);
  EXPECT_THAT(read().messages, IsEmpty());
  EXPECT_TRUE(read().reached_end);
}

TEST_F(ChatHistoryTest, ACallbacksRowHoldsTheRequestAndTheAnswer) {
  NewInboxRow row;
  row.activity_type = "a2a_send";
  row.method = "message/send";
  row.request_body = R"({"params":{"message":{"parts":[{"kind":"text","text":"ping"}]}}})";
  row.response_body = R"({"jsonrpc":"2.0","result":{"parts":[{"kind":"text","text":"pong"}]}})";
  const auto pushed = append(row);
  row.response_body = R"({"jsonrpc":"2.0","error":{"code":-32000,"message":"no"}})";
  append(row);
  const ChatPage page = read();
  EXPECT_THAT(contents(page), ElementsAre("ping", "pong", "ping"));
  EXPECT_EQ(page.messages[0].id, pushed.id.text());
  EXPECT_EQ(page.messages[1].id, pushed.id.text() + ":reply");
  EXPECT_EQ(page.messages[1].role, ChatMessage::Role::agent);
}

TEST_F(ChatHistoryTest, AFileBelongsToTheMessageThatNamesItOrIsAMessageItself) {
  const std::string named = upload_comes();
  const std::string alone = upload_comes();
  later();
  person_sends("look", file_part(named) + "," + file_part("https://example.org/b"));
  const ChatPage page = read();
  ASSERT_EQ(page.messages.size(), 2u);
  EXPECT_EQ(page.messages[0].content, "");
  EXPECT_EQ(page.messages[0].role, ChatMessage::Role::user);
  ASSERT_EQ(page.messages[0].attachments.size(), 1u);
  EXPECT_EQ(page.messages[0].attachments[0].uri, alone);
  EXPECT_EQ(page.messages[0].attachments[0].mime_type, "text/plain");
  ASSERT_EQ(page.messages[1].attachments.size(), 2u);
  EXPECT_EQ(page.messages[1].attachments[0].uri, named);
}

TEST_F(ChatHistoryTest, AFileThatTheAgentStagedAndNamesIsTheAgents) {
  const std::string agents = upload_comes(R"(,"uploaded_by":"agent")");
  const std::string persons = upload_comes();
  upload_comes(R"(,"uploaded_by":"agent")");
  later();
  agent_sends("here", file_part(agents) + "," + file_part(persons));
  const ChatPage page = read();
  EXPECT_THAT(contents(page), ElementsAre("", "", "here"));
  EXPECT_EQ(page.messages[0].attachments.at(0).uri, persons) << "the agent names it, and it stays the person's";
  EXPECT_EQ(page.messages[0].role, ChatMessage::Role::user);
  EXPECT_EQ(page.messages[2].role, ChatMessage::Role::agent);
  EXPECT_EQ(page.messages[2].attachments.at(0).uri, agents);
  EXPECT_THAT(contents(read(1, page.messages[2].timestamp)), ElementsAre("", "")) << "the message is on a newer page";
}

TEST_F(ChatHistoryTest, AFileIsNotShownAgainWhenItsMessageWasOnThePageBefore) {
  agent_sends("old");
  later();
  const std::string uri = upload_comes();
  later();
  person_sends("look", file_part(uri));
  const ChatPage newest = read(1);
  EXPECT_THAT(contents(newest), ElementsAre("look"));
  EXPECT_FALSE(newest.reached_end);
  const ChatPage older = read(1, newest.messages.front().timestamp);
  EXPECT_THAT(contents(older), ElementsAre("old"));
  EXPECT_TRUE(older.reached_end);
}

TEST_F(ChatHistoryTest, EveryMessageIsOnExactlyOnePageAlsoWhenManyHaveTheSameTime) {
  std::vector<std::string> texts;
  for (int i = 0; i < 330; ++i) {
    texts.push_back(std::to_string(i));
    i % 3 ? person_sends(texts.back()) : agent_sends(texts.back());
    if (i % 7 == 0) later();
    NewInboxRow noise;
    noise.activity_type = "agent_log";
    append(noise);
  }
  for (const int limit : {1, 2, 50, 0, 500, 100'000}) EXPECT_EQ(walk(limit), texts) << limit;
  EXPECT_EQ(read(0).messages.size(), 105u) << "a hundred, and the rest of that moment";
}

TEST_F(ChatHistoryTest, APageIsCutAtAMegabyteButNeverBelowOneMessage) {
  std::vector<std::string> texts;
  for (int i = 0; i < 5; ++i) {
    texts.push_back(std::string(600'000, static_cast<char>('a' + i)));
    agent_sends(texts.back());
    later();
  }
  EXPECT_EQ(read().messages.size(), 2u);
  EXPECT_EQ(walk(0), texts);
}

TEST_F(ChatHistoryTest, ManyMessagesWithTheSameTimeDoNotMakeAnUnboundedPage) {
  for (int i = 0; i < 520; ++i) agent_sends(std::to_string(i));
  const ChatPage page = read(1);
  EXPECT_EQ(page.messages.size(), 501u);
  EXPECT_FALSE(page.reached_end);
}

TEST_F(ChatHistoryTest, AnUnknownAndARemovedWorkspaceHaveNone) {
  EXPECT_EQ(history.read(WorkspaceId::make(kStart), 0, {}).error().code(), errors::workspace_not_found.code);
  ASSERT_TRUE(desk.store->remove_workspace(workspace, kStart).take());
  EXPECT_EQ(history.read(workspace, 0, {}).error().code(), errors::workspace_removed.code);
}

TEST_F(ChatHistoryTest, RowsWithoutMessagesAreReadInSteps) {
  person_sends("hello");
  NewInboxRow noise;
  noise.activity_type = "agent_log";
  for (int i = 0; i < 1'100; ++i) append(noise);
  const auto reading = history.reading(workspace, 10, {});
  ASSERT_TRUE(reading);
  EXPECT_FALSE((*reading)->next()) << "others may have a turn";
  const auto page = (*reading)->next();
  ASSERT_TRUE(page && *page);
  EXPECT_THAT(contents(**page), ElementsAre("hello"));
  EXPECT_TRUE((*page)->reached_end);
  EXPECT_THAT(contents(read()), ElementsAre("hello"));
}

}  // namespace
}  // namespace restante::desk
