// POST /workspaces/:id/a2a and /notify, one rule after the other.
#include <gtest/gtest.h>

#include "api/test_api.h"
#include "base/json.h"

namespace restante::api {
namespace {

class MessagesApi : public testing::Test {
 protected:
  Answer send(std::string_view secret, std::string body, std::string named = "", std::optional<WorkspaceId> to = {}) {
    Ask asked;
    asked.method = "POST";
    asked.target = "/workspaces/" + to.value_or(api.workspace).text() + "/a2a";
    asked.bearer(secret).json(std::move(body));
    if (!named.empty()) asked.with("X-Workspace-ID", std::move(named));
    return api.ask(asked);
  }
  static std::string message(std::string_view text, std::string_view id = "m") {
    return R"({"method":"message/send","params":{"message":{"messageId":")" + std::string(id) +
           R"(","parts":[{"kind":"text","text":")" + std::string(text) + R"("}]}}})";
  }
  std::vector<InboxRow> rows() { return api.desk.inbox_of(api.workspace); }
  static void expect_error(const Answer& answer, int status, std::string_view code) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_NE(answer.body.find(R"("code":")" + std::string(code) + '"'), std::string::npos) << answer.body;
  }

  TestApi api;
  std::string neighbour = api.desk.give_token(TokenKind::workspace, api.other);
};

TEST_F(MessagesApi, AMessageToAPollTargetIsAnsweredOnceTheRowIsStored) {
  const Answer answer = send(neighbour, message("hi"));
  EXPECT_EQ(answer.status, 200);
  ASSERT_EQ(rows().size(), 1u);
  const InboxRow row = rows()[0];
  EXPECT_EQ(answer.body, R"({"delivery_mode":"poll","method":"message/send","status":"queued","activity_id":")" +
                             row.id.text() + R"(","seq":1})");
  EXPECT_EQ(row.activity_type, "a2a_receive");
  EXPECT_EQ(row.method, "message/send");
  EXPECT_EQ(row.source_id, api.other);
  EXPECT_EQ(row.message_id, "m");
  EXPECT_EQ(row.request_body,
            R"({"method":"message/send","params":{"message":{"messageId":"m","parts":[{"kind":"text",)"
            R"("text":"hi"}],"role":"user"}},"jsonrpc":"2.0","id":"m"})");
}

TEST_F(MessagesApi, OfPeopleHaveNoSource) {
  EXPECT_EQ(send(api.admin, message("a")).status, 200);
  EXPECT_EQ(send(api.sender, message("b")).status, 200);
  ASSERT_EQ(rows().size(), 2u);
  for (const InboxRow& row : rows()) EXPECT_FALSE(row.source_id);
}

TEST_F(MessagesApi, ARepeatedIdWithTheSameContentIsTheSameMessage) {
  const Answer first = send(neighbour, message("hi"));
  EXPECT_EQ(send(neighbour, message("hi")).body, first.body);
  EXPECT_EQ(rows().size(), 1u);
  EXPECT_NE(send(neighbour, message("something else")).body, first.body);
  EXPECT_NE(send(api.agent, message("hi")).body, first.body) << "another sender";
  EXPECT_EQ(rows().size(), 3u);
}

TEST_F(MessagesApi, TheNamedCallerIsTheOneOfTheToken) {
  EXPECT_EQ(send(neighbour, message("a"), api.other.text()).status, 200);
  expect_error(send(neighbour, message("b"), api.workspace.text()), 403, "not_allowed");
  expect_error(send(neighbour, message("c"), "junk"), 400, "bad_parameter");
  EXPECT_EQ(rows().size(), 1u);
  EXPECT_EQ(rows()[0].source_id, api.other);
}

TEST_F(MessagesApi, AForbiddenTargetAndAMissingOneGiveTheSameAnswer) {
  WorkspacePatch patch;
  patch.parent_id = api.desk.make_workspace();
  ASSERT_TRUE(api.desk.store->patch_workspace(api.workspace, patch, api.desk.clock.now()).take());
  const Answer forbidden = send(neighbour, message("a"));
  expect_error(forbidden, 403, "may_not_talk");
  const Answer absent = send(neighbour, message("a"), "", WorkspaceId::make(desk::kStart));
  EXPECT_EQ(absent.status, forbidden.status);
  EXPECT_EQ(absent.body, forbidden.body);
  const std::string her = api.desk.give_token(TokenKind::sender, api.other);
  const Answer person = send(her, message("a"));
  expect_error(person, 403, "not_allowed");
  EXPECT_EQ(send(her, message("a"), "", WorkspaceId::make(desk::kStart)).body, person.body);
  EXPECT_TRUE(rows().empty());
}

TEST_F(MessagesApi, TheOperatorLearnsThatATargetIsMissing) {
  expect_error(send(api.admin, message("a"), "", WorkspaceId::make(desk::kStart)), 404, "workspace_not_found");
  ASSERT_TRUE(api.desk.store->remove_workspace(api.other, api.desk.clock.now()).take());
  expect_error(send(api.admin, message("a"), "", api.other), 410, "workspace_removed");
}

TEST_F(MessagesApi, ABodyThatIsNotAMessageIsRefusedAndStoresNothing) {
  expect_error(send(api.admin, message(R"(\u0000)")), 400, "nul_not_allowed");
  expect_error(send(api.admin, R"({"method":"message/send","params":{"message":{}}})"), 400, "bad_field");
  expect_error(send(api.admin, R"({"method":"tasks/get","params":{"id":"x"}})"), 400, "bad_field");
  expect_error(send(api.admin, "[]"), 400, "bad_json");
  expect_error(send(api.admin, R"({"method":)"), 400, "bad_json");
  Ask form;
  form.method = "POST";
  form.target = api.path("/a2a");
  form.body = message("a");
  expect_error(api.ask(form.bearer(api.admin).with("Content-Type", "text/plain")), 415, "json_expected");
  EXPECT_TRUE(rows().empty());
}

TEST_F(MessagesApi, ATraceIsKeptWithTheMessage) {
  const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  Ask asked;
  asked.method = "POST";
  asked.target = api.path("/a2a");
  asked.bearer(api.admin).json(message("a")).with("traceparent", trace);
  EXPECT_EQ(api.ask(asked).status, 200);
  EXPECT_EQ(rows().at(0).traceparent, trace);
}

TEST_F(MessagesApi, AnAttachmentWithoutUriOrNameIsRefusedAndStoresNothing) {
  for (const char* attachments : {R"([{"name":"a"}])", R"([{"uri":"x:1"}])", R"([{"uri":"","name":"a"}])", R"(["x:1"])",
                                  "{}", R"([{"uri":"x:1","name":"a"},{}])", R"([{"uri":"x:1","name":"a","size":"1"}])",
                                  R"([{"uri":"x:1","name":"a","mimeType":1}])"}) {
    const Answer answer =
        api.post(api.path("/notify"), api.agent, R"({"message":"hi","attachments":)" + std::string(attachments) + "}");
    expect_error(answer, 400, "bad_field");
  }
  EXPECT_TRUE(rows().empty());
}

TEST_F(MessagesApi, ANotificationKeepsItsAttachmentsAsFileParts) {
  const Answer answer = api.post(
      api.path("/notify"), api.agent,
      R"({"message":"hi","attachments":[{"uri":"https://x.example/a","name":"a.txt","mimeType":"text/plain","size":3}]})");
  EXPECT_EQ(answer.body, R"({"status":"sent"})");
  EXPECT_EQ(rows().at(0).response_body,
            R"({"result":"hi","parts":[{"kind":"file","file":{"uri":"https://x.example/a","name":"a.txt",)"
            R"("mimeType":"text/plain","size":3}}]})");
  EXPECT_EQ(api.post(api.path("/notify"), api.agent, R"({"message":"hi","attachments":[]})").status, 200);
  EXPECT_EQ(rows().at(1).response_body, R"({"result":"hi"})");
}

}  // namespace
}  // namespace restante::api
