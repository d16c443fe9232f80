#include "api/messages.h"

#include <gtest/gtest.h>

#include "api/test_api.h"
#include "base/json.h"

namespace restante::api {
namespace {

class OutgoingApi : public ::testing::Test {
 protected:
  // Stages an outgoing file of the agent of `workspace`, which no message names yet.
  std::string stage_out(std::string_view bytes = "done") {
    Ask out;
    out.method = "POST";
    out.target = api.path("/chat/uploads?direction=out");
    out.body = "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"out.txt\"\r\n\r\n" +
               std::string(bytes) + "\r\n--b--\r\n";
    const Answer staged = api.ask(out.bearer(api.agent).with("Content-Type", "multipart/form-data; boundary=b"));
    EXPECT_EQ(staged.status, 200) << staged.body;
    return staged.body.substr(staged.body.find(api.workspace.text() + "/") + 37, 36);
  }
  std::string uri(const std::string& file) { return "platform-pending:" + api.workspace.text() + "/" + file; }
  static std::string message(const std::string& named, const std::string& id = "m-1") {
    return R"({"method":"message/send","params":{"message":{"messageId":")" + id +
           R"(","parts":[{"kind":"file","file":{"uri":")" + named + R"(","name":"out.txt"}}]}}})";
  }
  Answer send(const std::string& body, const std::string& key = "") {
    Ask asked;
    asked.method = "POST";
    asked.target = "/workspaces/" + api.other.text() + "/a2a";
    if (!key.empty()) asked.with("Idempotency-Key", key);
    return api.ask(asked.bearer(api.agent).json(body));
  }

  TestApi api;
  const std::string other_agent = api.desk.give_token(TokenKind::workspace, api.other);
};

TEST_F(OutgoingApi, AMessageDeliversTheFileItNames) {
  const Answer sent = send(message(uri(stage_out())));
  EXPECT_EQ(sent.status, 200) << sent.body;
  EXPECT_TRUE(sent.body.starts_with(R"({"delivery_mode":"poll","method":"message/send","status":"queued")"));
  const auto rows = api.desk.inbox_of(api.other);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].method, "chat_upload_receive");
  EXPECT_EQ(rows[1].method, "message/send");
  const auto named = parse_json(rows[1].request_body);
  const std::string there =
      *named->find("params")->find("message")->find("parts")->if_array()->at(0).find("file")->find("uri")->if_string();
  ASSERT_TRUE(there.starts_with("platform-pending:" + api.other.text() + "/"));
  const std::string file = there.substr(there.size() - 36);
  EXPECT_EQ(api.get("/workspaces/" + api.other.text() + "/pending-uploads/" + file + "/content", other_agent).body,
            "done");
}

TEST_F(OutgoingApi, APersonOfTheReceivingAgentLearnsNothingAboutTheFile) {
  ASSERT_EQ(send(message(uri(stage_out()))).status, 200);
  const auto file = parse_json(api.desk.inbox_of(api.other)[0].request_body);
  const std::string person = api.desk.give_token(TokenKind::sender, api.other);
  const std::string other = "/workspaces/" + api.other.text();
  EXPECT_EQ(api.post(other + "/a2a", person, message(file->text("uri"), "guess")).status, 200);
  const auto shows_state = [&](std::string_view who, std::string_view state) {
    const std::string body = api.get(other + "/activity?include=peer_info&limit=1", who).body;
    return body.find(R"("state":")" + std::string(state) + '"') != std::string::npos;
  };
  EXPECT_TRUE(shows_state(person, "unknown"));
  EXPECT_TRUE(shows_state(other_agent, "staged"));
}

TEST_F(OutgoingApi, ARepeatUnderAKeyDeliversItOnce) {
  const std::string body = message(uri(stage_out()));
  const Answer first = send(body, "k");
  const Answer again = send(body, "k");
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(api.desk.inbox_of(api.other).size(), 2u);
}

TEST_F(OutgoingApi, AFileThatIsNotALiveFileOfTheSenderIsRefused) {
  const std::string expired = stage_out();
  const std::string received = api.upload(api.sender);
  const Answer absent = send(message(uri(FileId::make(desk::kStart).text())));
  EXPECT_EQ(absent.status, 400) << absent.body;
  EXPECT_NE(absent.body.find(R"("code":"attachment_gone")"), std::string::npos);
  EXPECT_EQ(send(message(uri(received))).status, 400);
  api.desk.clock.advance(std::chrono::hours(24));
  EXPECT_EQ(send(message(uri(expired))).status, 400);
  EXPECT_EQ(api.desk.inbox_of(api.other).size(), 0u);
}

TEST_F(OutgoingApi, AFileThatThePageUploadedAndThenNamesStaysUnchanged) {
  const std::string file = api.upload(api.sender);
  const std::string body = message(uri(file));
  EXPECT_EQ(api.post(api.path("/a2a"), api.sender, body).status, 200);
  EXPECT_NE(api.desk.inbox_of(api.workspace).back().request_body.find(uri(file)), std::string::npos);
}

TEST_F(OutgoingApi, AgentsCanOnlyShowTheirPeopleFilesThatExist) {
  const auto notify = [&](const std::string& named) {
    return api.post(api.path("/notify"), api.agent,
                    R"({"message":"look","attachments":[{"uri":")" + named + R"(","name":"n"}]})");
  };
  const std::string file = stage_out();
  EXPECT_EQ(notify(uri(file)).status, 200);
  EXPECT_NE(api.desk.inbox_of(api.workspace).back().response_body.find(uri(file)), std::string::npos);
  EXPECT_EQ(notify("https://example.org/x").status, 200);
  EXPECT_NE(notify(uri(FileId::make(desk::kStart).text())).body.find("attachment_gone"), std::string::npos);
  EXPECT_EQ(notify("platform-pending:" + api.other.text() + "/" + file).status, 400);
  EXPECT_EQ(api.desk.inbox_of(api.workspace).size(), 2u) << "nothing stored for a refused one";
}

TEST_F(OutgoingApi, ADeletedFileIsRefusedBeforeACallbackIsCalled) {
  const WorkspaceId pushed = api.desk.make_workspace(DeliveryMode::push);
  const Answer refused =
      api.post("/workspaces/" + pushed.text() + "/a2a", api.agent, message(uri(FileId::make(desk::kStart).text())));
  EXPECT_EQ(refused.status, 400) << refused.body;
  EXPECT_EQ(api.desk.inbox_of(pushed).size(), 0u);
}

TEST_F(OutgoingApi, ForAPushWorkspaceTheFileIsStagedBeforeItsCallbackIsCalled) {
  const WorkspaceId pushed = api.desk.make_workspace(DeliveryMode::push);
  const std::string body = message(uri(stage_out()));
  http::Request request;
  const std::string head =
      "POST /workspaces/" + pushed.text() +
      "/a2a HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\nAuthorization: Bearer " + api.agent + "\r\n\r\n";
  ASSERT_FALSE(http::parse_head(head, http::Limits(), request));
  request.body = body;
  const auto match = api.router.match(request);
  ASSERT_FALSE(match.route->admit(request));
  http::Response response = match.route->handle(request);
  const auto later = std::get<std::shared_ptr<http::Later>>(response.content);
  EXPECT_EQ(later->may_block, http::MayBlock::on_rows);
  std::promise<void> done;
  later->when_done([&] { done.set_value(); });
  done.get_future().wait();
  response = later->answer();
  const auto order = std::get<std::shared_ptr<http::Forward>>(response.content);
  const auto waiting = api.desk.uploads.waiting(desk::kOperator, pushed, {}, 10);
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_NE(order->body.find(pending_uri(pushed, waiting[0].id)), std::string::npos) << "as the target knows it";
}

}  // namespace
}  // namespace restante::api
