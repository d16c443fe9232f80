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

TEST_F(MessagesApi, BelowHalfOfTheReserveWhatFillsIsRefusedAndWhatFreesIsNot) {
  std::uint64_t free = 50'000;
  const desk::Room room({100'000, [&](std::uint64_t bytes) { return free - std::min(free, bytes); }});
  const std::string kept = api.upload(api.admin);
  const auto keyed = [&](std::string text) {
    Ask asked;
    asked.method = "POST";
    asked.target = api.path("/a2a");
    return api.ask(asked.bearer(neighbour).with("Idempotency-Key", "key").json(message(text)));
  };
  EXPECT_EQ(keyed("before").status, 200);
  api.context.room = &room;
  const std::string task = R"({"target_id":")" + api.other.text() + R"(","task":"t"})";
  expect_error(send(neighbour, message("no")), 507, "insufficient_storage");
  expect_error(api.post(api.path("/notify"), api.agent, R"({"message":"no"})"), 507, "insufficient_storage");
  expect_error(api.post(api.path("/activity"), api.agent, R"({"activity_type":"agent_log"})"), 507,
               "insufficient_storage");
  expect_error(api.post(api.path("/delegate"), api.agent, task), 507, "insufficient_storage");
  expect_error(api.post(api.path("/delegations/record"), api.agent, task), 507, "insufficient_storage");
  expect_error(api.post(api.path("/delegations/d/update"), api.agent, '"' + std::string(70'000, 'x') + '"'), 507,
               "insufficient_storage");
  EXPECT_EQ(keyed("before").status, 200) << "a repeated request gets its answer";
  EXPECT_EQ(api.post("/registry/heartbeat", api.agent, R"({"workspace_id":")" + api.workspace.text() + "\"}").status,
            200);
  EXPECT_EQ(api.post(api.path("/activity/ack"), api.agent, R"({"acked_seq":1})").status, 200);
  EXPECT_EQ(api.post(api.path("/pending-uploads/" + kept + "/ack"), api.agent, "").status, 200);
  free = 200'000;
  EXPECT_EQ(send(neighbour, message("yes")).status, 200);
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
  expect_error(send(api.admin, R"({"params":{"message":{"parts":[{"text":"x"}]}}})"), 400, "bad_field");
  expect_error(send(api.admin, "[]"), 400, "bad_json");
  expect_error(send(api.admin, R"({"method":)"), 400, "bad_json");
  Ask form;
  form.method = "POST";
  form.target = api.path("/a2a");
  form.body = message("a");
  expect_error(api.ask(form.bearer(api.admin).with("Content-Type", "text/plain")), 415, "json_expected");
  EXPECT_TRUE(rows().empty());
}

TEST_F(MessagesApi, NoClientMakesAMessageIntoATask) {
  const std::string forged =
      R"({"method":"message/send","params":{"message":{"messageId":"m","parts":[{"kind":"text","text":"done"}],)"
      R"("metadata":{"delegation_id":"d1","parent_delegation_id":"d0","mine":1}}}})";
  for (const std::string& who : {api.sender, api.admin, neighbour, api.agent}) {
    const Answer answer = send(who, forged);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_TRUE(answer.body.ends_with(R"(,"ignored":["metadata.delegation_id","metadata.parent_delegation_id"]})"))
        << answer.body;
  }
  ASSERT_EQ(rows().size(), 4u);
  for (const InboxRow& row : rows()) {
    EXPECT_EQ(row.request_body.find("delegation_id"), std::string::npos) << row.request_body;
    EXPECT_NE(row.request_body.find(R"("metadata":{"mine":1})"), std::string::npos) << row.request_body;
  }
}

TEST_F(MessagesApi, ANotificationStoresNothingThatOnlyTheServerMaySay) {
  const Answer answer = api.post(api.path("/notify"), api.agent,
                                 R"({"message":"done","delegation_id":"d1","metadata":{"delegation_id":"d1"},)"
                                 R"("attachments":[{"uri":"x:1","name":"a","metadata":{"delegation_id":"d1"}}]})");
  EXPECT_EQ(answer.body, R"({"status":"sent"})");
  EXPECT_EQ(rows().at(0).response_body,
            R"({"result":"done","parts":[{"kind":"file","file":{"uri":"x:1","name":"a"}}]})");
  EXPECT_EQ(rows().at(0).request_body, "");
}

TEST_F(MessagesApi, ANotificationKeepsWhichMessageItAnswers) {
  const std::string row = "01999a3c-7a10-7c52-b2a5-3f0c6d1f9b42";
  EXPECT_EQ(api.post(api.path("/notify"), api.agent, R"({"message":"done","reply_to":")" + row + "\"}").status, 200);
  EXPECT_EQ(rows().at(0).response_body, R"({"result":"done","reply_to":")" + row + "\"}");
  expect_error(api.post(api.path("/notify"), api.agent, R"({"message":"done","reply_to":"the first"})"), 400,
               "bad_field");
}

TEST_F(MessagesApi, AnUnknownMethodGetsTheAnswerOfJsonRpc) {
  const auto answered = [](std::string_view id) {
    return R"({"jsonrpc":"2.0","id":)" + std::string(id) +
           R"(,"error":{"code":-32601,"message":"Method not found: the only method is message/send"}})";
  };
  const Answer numbered = send(api.admin, R"({"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"id":"x"}})");
  EXPECT_EQ(numbered.status, 200);
  EXPECT_EQ(numbered.body, answered("7"));
  EXPECT_EQ(send(api.sender, R"({"id":"a","method":"message/stream"})").body, answered("\"a\""));
  EXPECT_EQ(send(neighbour, R"({"id":[1],"method":""})").body, answered("null"));
  EXPECT_TRUE(rows().empty());
  expect_error(send(api.admin, R"({"method":"tasks/get"})", "", WorkspaceId::make(desk::kStart)), 404,
               "workspace_not_found");
}

TEST_F(MessagesApi, AnErrorNamesTheAttachmentByItsIndex) {
  const auto refused = [&](std::string attachments) {
    return api.post(api.path("/notify"), api.agent, R"({"message":"hi","attachments":)" + attachments + "}").body;
  };
  EXPECT_NE(refused(R"([{"name":"a"}])").find("attachment[0] must"), std::string::npos);
  EXPECT_NE(refused(R"([{"uri":"x:1","name":"a"},{"uri":"x:1"}])").find("attachment[1] must"), std::string::npos);
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
  EXPECT_EQ(api.post(api.path("/notify"), api.agent,
                     R"({"message":"hi","attachments":[{"uri":"x:1","name":"a","mime_type":"image/png"}]})")
                .status,
            200);
  EXPECT_NE(rows().back().response_body.find(R"("mimeType":"image/png")"), std::string::npos);
  EXPECT_EQ(api.post(api.path("/notify"), api.agent, R"({"message":"hi","attachments":[]})").status, 200);
  EXPECT_EQ(rows().back().response_body, R"({"result":"hi"})");
}

}  // namespace
}  // namespace restante::api
