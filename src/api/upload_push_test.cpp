#include "api/uploads.h"

#include <gtest/gtest.h>

#include "api/handlers.h"
#include "api/test_api.h"

namespace restante::api {
namespace {

using Outcome = http::Forwarded::Outcome;

constexpr std::string_view kForm = "multipart/form-data; boundary=b";

class UploadPushTest : public testing::Test {
 protected:
  http::BodyHandling receive(std::string_view type = kForm, std::string_view more = "") {
    request = std::make_unique<http::Request>();
    const std::string head =
        "POST /workspaces/" + target.id.text() +
        "/chat/uploads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nContent-Type: " + std::string(type) +
        "\r\n" + std::string(more) + "\r\n";
    EXPECT_FALSE(http::parse_head(head, http::Limits(), *request));
    Principal admin;
    admin.role = Principal::Role::admin;
    request->caller = admin;
    return push_upload(api.context, *request, target);
  }
  // Null when the request is answered or staged.
  std::unique_ptr<http::Relay> relay(std::string_view more = "") {
    auto handling = receive(kForm, more);
    auto* made = std::get_if<std::unique_ptr<http::Relay>>(&handling);
    return made ? std::move(*made) : nullptr;
  }
  Answer refusal(std::string_view type = kForm) {
    auto handling = receive(type);
    auto* answered = std::get_if<http::Response>(&handling);
    return answered ? TestApi::settle(std::move(*answered)) : Answer();
  }
  Answer pass_on(http::Forwarded came) {
    const auto made = relay();
    if (!made) {
      ADD_FAILURE() << "the callback was not called";
      return {};
    }
    return TestApi::settle(made->order.then(std::move(came)));
  }
  static http::Forwarded answered(int status, std::string body = "{}") {
    http::Forwarded came;
    came.outcome = Outcome::answered;
    came.connected = true;
    came.sent = 9;
    came.status = status;
    came.content_type = "application/json";
    came.body = std::move(body);
    came.took = std::chrono::milliseconds(7);
    return came;
  }
  static http::Forwarded failed(Outcome outcome, bool connected) {
    http::Forwarded came;
    came.outcome = outcome;
    came.connected = connected;
    came.sent = connected ? 5 : 0;
    return came;
  }
  std::vector<InboxRow> rows() { return api.desk.inbox_of(target.id); }
  double counted(std::string_view outcome) { return api.desk.metrics.upload_pushes(outcome).Value(); }
  // A form with one file, fed to the body sink.
  static Answer feed(http::BodyHandling handling) {
    auto* sink = std::get_if<std::unique_ptr<http::BodySink>>(&handling);
    if (!sink) return {};
    const std::string body =
        "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.txt\"\r\n\r\nhello\r\n--b--\r\n";
    if (auto early = (*sink)->take(body)) return TestApi::settle(std::move(*early));
    return TestApi::settle((*sink)->finish());
  }

  TestApi api;
  Workspace target = api.make_called_workspace("https://agent.example/");
  std::string secret = *api.secrets.ensure(target.id);
  std::unique_ptr<http::Request> request;
};

TEST_F(UploadPushTest, TheBodyGoesToTheIngestPathWithTheSecretAndItsOwnType) {
  const auto made = relay("Idempotency-Key: k-1\r\n");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->order.url, "https://agent.example/internal/chat/uploads/ingest");
  EXPECT_EQ(made->order.content_type, kForm);
  EXPECT_EQ(made->order.reply_cap, 1u << 20);
  const std::vector<http::Header> wanted = {{"Authorization", "Bearer " + secret}, {"Idempotency-Key", "k-1"}};
  EXPECT_EQ(made->order.headers, wanted) << "and nothing else of the sender's";
  EXPECT_TRUE(made->order.may_connect("93.184.216.34"));
  EXPECT_FALSE(made->order.may_connect("127.0.0.1"));
  EXPECT_FALSE(made->instead) << "staging instead is the operator's choice";
}

TEST_F(UploadPushTest, ATraceIsPassedToTheCallbackAndStoredInTheRow) {
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const auto made = relay("traceparent: " + trace + "\r\n");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->order.headers.back(), http::Header("traceparent", trace));
  EXPECT_EQ(TestApi::settle(made->order.then(answered(200))).status, 200);
  EXPECT_EQ(rows().at(0).traceparent, trace);
}

TEST_F(UploadPushTest, TheIngestPathIsAppendedToTheUrlsOwn) {
  const std::pair<const char*, const char*> kUrls[] = {
      {"https://agent.example", "https://agent.example/internal/chat/uploads/ingest"},
      {"https://agent.example/a2a", "https://agent.example/a2a/internal/chat/uploads/ingest"},
      {"https://agent.example/a2a//", "https://agent.example/a2a/internal/chat/uploads/ingest"},
      {"http://agent.example/a2a?x=1", "http://agent.example/a2a/internal/chat/uploads/ingest?x=1"},
  };
  for (const auto& [url, ingest] : kUrls) {
    target.url = url;
    const auto made = relay();
    ASSERT_TRUE(made) << url;
    EXPECT_EQ(made->order.url, ingest);
  }
}

TEST_F(UploadPushTest, WithoutAUrlTheErrorDependsOnWhetherTheModeIsSet) {
  target.url = "";
  const Answer set = refusal();
  EXPECT_EQ(set.status, 503);
  EXPECT_NE(set.body.find(R"("code":"callback_missing")"), std::string::npos) << set.body;
  target.mode_is_set = false;
  const Answer not_set = refusal();
  EXPECT_EQ(not_set.status, 422);
  EXPECT_TRUE(not_set.body.starts_with(R"({"error":"workspace has no callback URL)")) << not_set.body;
}

TEST_F(UploadPushTest, AModeThatWasNeverSetIsPush) {
  target.mode_is_set = false;
  EXPECT_TRUE(relay());
}

TEST_F(UploadPushTest, ABodyThatIsNotAFormIsRefusedBeforeTheCallbackIsCalled) {
  for (const char* type : {"application/json", "multipart/mixed; boundary=b", "multipart/form-data"}) {
    EXPECT_EQ(refusal(type).status, 400) << type;
  }
}

TEST_F(UploadPushTest, ASecretThatCannotBeReadIsNotReplacedWithoutTheAgent) {
  target.id = api.desk.make_workspace(DeliveryMode::push);
  const Answer refused = refusal();
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find(R"("code":"no_inbound_secret")"), std::string::npos) << refused.body;
  EXPECT_EQ(api.secrets.find(target.id), "");
  EXPECT_EQ(api.secrets.ensure(target.id)->size(), 43u);
  EXPECT_TRUE(relay()) << "once the agent has got a new one, it is used";
}

TEST_F(UploadPushTest, AnAcceptanceIsPassedOnAndRecordedAsSent) {
  const Answer answer = pass_on(answered(200, R"({"files":[]})"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"files":[]})");
  EXPECT_EQ(answer.header("Content-Type"), "application/json");
  ASSERT_EQ(rows().size(), 1u);
  const InboxRow row = rows()[0];
  EXPECT_EQ(row.activity_type, "a2a_send");
  EXPECT_EQ(row.method, "chat_upload_push");
  EXPECT_EQ(row.status, "ok");
  EXPECT_EQ(row.target_id, target.id);
  EXPECT_FALSE(row.source_id);
  EXPECT_EQ(row.request_body, R"({"size":9})");
  EXPECT_EQ(row.response_body, R"({"files":[]})");
  EXPECT_EQ(row.duration_ms, 7);
  EXPECT_EQ(counted("delivered"), 1);
  EXPECT_EQ(api.desk.metrics.upload_push_bytes.Value(), 9);
}

TEST_F(UploadPushTest, ARefusalIsPassedOnAndTheCallbackIsCalledAgain) {
  for (int i = 0; i < 7; ++i) EXPECT_EQ(pass_on(answered(413, "too much")).body, "too much");
  const InboxRow row = rows().at(0);
  EXPECT_EQ(row.status, "error");
  EXPECT_EQ(row.error_detail, "callback answered 413");
  EXPECT_EQ(row.response_body, "");
  EXPECT_EQ(counted("refused"), 7);
}

TEST_F(UploadPushTest, AFailureIsPassedOnUntilCallsArePaused) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(pass_on(answered(i % 2 == 0 ? 500 : 429)).status, i % 2 == 0 ? 500 : 429);
  const Answer spared = refusal();
  EXPECT_EQ(spared.status, 502);
  EXPECT_NE(spared.body.find(R"("code":"callback_unreachable","reason":"spared","retry_after":)"), std::string::npos)
      << spared.body;
  EXPECT_EQ(counted("failed"), 3);
  EXPECT_EQ(counted("busy"), 2);
  EXPECT_EQ(counted("spared"), 1);
  EXPECT_EQ(rows().size(), 5u) << "a call that was not made has no row";
  api.desk.clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(pass_on(answered(200)).status, 200);
  EXPECT_TRUE(relay());
}

TEST_F(UploadPushTest, ARedirectIsAFailureOfTheCallback) {
  for (const int status : {301, 302, 304, 307}) {
    const Answer answer = pass_on(answered(status));
    EXPECT_EQ(answer.status, 502);
    EXPECT_NE(answer.body.find(R"("code":"callback_failed","reason":"redirected")"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(rows().at(0).error_detail, "callback answered 301");
}

TEST_F(UploadPushTest, AnUnreachableCallbackGetsNoRow) {
  const Answer answer = pass_on(failed(Outcome::unreachable, false));
  EXPECT_EQ(answer.status, 502);
  EXPECT_NE(answer.body.find(R"("reason":"unreachable","retry_after":5)"), std::string::npos) << answer.body;
  EXPECT_EQ(pass_on(failed(Outcome::timed_out, false)).status, 502);
  EXPECT_EQ(rows().size(), 0u);
  EXPECT_EQ(counted("unreachable"), 1);
  EXPECT_EQ(counted("timed_out"), 1);
}

TEST_F(UploadPushTest, AnAddressThatMayNotBeCalledIsNotToBeTriedAgain) {
  const Answer at_connect = pass_on(failed(Outcome::refused_address, false));
  EXPECT_EQ(at_connect.status, 502);
  EXPECT_EQ(at_connect.body.find("retry_after"), std::string::npos) << at_connect.body;
  for (const char* url : {"http://localhost/", "https://agent.example:22/", "nonsense"}) {
    target.url = url;
    EXPECT_EQ(refusal().body, at_connect.body) << url;
  }
}

TEST_F(UploadPushTest, ABrokenExchangeMayHaveDeliveredAndTheErrorSaysSo) {
  for (const Outcome outcome : {Outcome::bad_reply, Outcome::too_large, Outcome::timed_out}) {
    target.url = "https://agent.example/" + std::to_string(static_cast<int>(outcome));
    const Answer answer = pass_on(failed(outcome, true));
    EXPECT_EQ(answer.status, 502);
    EXPECT_NE(answer.body.find(R"("code":"callback_failed")"), std::string::npos) << answer.body;
    EXPECT_EQ(answer.body.find("retry_after"), std::string::npos) << answer.body;
  }
  ASSERT_EQ(rows().size(), 3u);
  EXPECT_EQ(rows()[0].status, "error");
  EXPECT_EQ(rows()[0].error_detail, "callback not done: bad_reply");
  EXPECT_EQ(rows()[0].request_body, R"({"size":5})");
}

TEST_F(UploadPushTest, ASenderThatClosesDoesNotCountAsAFailureOfTheCallback) {
  for (int i = 0; i < 10; ++i) pass_on(failed(Outcome::cut, true));
  EXPECT_TRUE(relay());
  ASSERT_EQ(rows().size(), 10u);
  EXPECT_EQ(rows()[0].status, "error");
  EXPECT_EQ(rows()[0].error_detail, "callback not done: cut");
  EXPECT_EQ(counted("cut"), 10);
}

TEST_F(UploadPushTest, IfTheOperatorSetsItFilesForAnUnreachableCallbackAreStaged) {
  api.push.stage_when_down = true;
  const auto made = relay();
  ASSERT_TRUE(made);
  ASSERT_TRUE(made->instead);
  const Answer staged = feed(made->instead(failed(Outcome::unreachable, false)));
  EXPECT_EQ(staged.status, 200);
  EXPECT_NE(staged.body.find("platform-pending:" + target.id.text()), std::string::npos) << staged.body;
  ASSERT_EQ(rows().size(), 1u);
  EXPECT_EQ(rows()[0].method, "chat_upload_receive");
  EXPECT_EQ(counted("staged"), 1);
  for (int i = 0; i < 4; ++i) feed(relay()->instead(failed(Outcome::unreachable, false)));
  EXPECT_EQ(feed(receive()).status, 200) << "also while calls are paused";
  EXPECT_EQ(rows().size(), 6u);
  target.url = "http://localhost/";
  EXPECT_EQ(feed(receive()).status, 200) << "and when it may not be called";
}

TEST_F(UploadPushTest, OnceTheCallbackHasReceivedBytesNothingIsStaged) {
  api.push.stage_when_down = true;
  EXPECT_EQ(pass_on(failed(Outcome::bad_reply, true)).status, 502);
  EXPECT_EQ(pass_on(answered(500)).status, 500);
  EXPECT_EQ(api.desk.uploads.waiting(desk::kOperator, target.id, std::nullopt, 10).size(), 0u);
}

TEST_F(UploadPushTest, TwoUploadsUnderOneKeyAreNotPassedOnAtOnce) {
  const std::string_view key = "Idempotency-Key: k-1\r\n";
  auto first = relay(key);
  ASSERT_TRUE(first);
  const auto first_request = std::move(request);
  auto second = receive(kForm, key);
  ASSERT_TRUE(std::holds_alternative<http::Response>(second));
  EXPECT_EQ(TestApi::settle(std::get<http::Response>(std::move(second))).status, 409);
  EXPECT_EQ(TestApi::settle(first->order.then(answered(200))).status, 200);
  first.reset();
  EXPECT_TRUE(relay(key)) << "the callback knows whether it has it";
}

TEST_F(UploadPushTest, StagingAsFallbackUsesTheSameKey) {
  api.push.stage_when_down = true;
  const std::string_view key = "Idempotency-Key: k-1\r\n";
  const Answer staged = feed(relay(key)->instead(failed(Outcome::unreachable, false)));
  EXPECT_EQ(staged.status, 200);
  EXPECT_EQ(feed(relay(key)->instead(failed(Outcome::unreachable, false))).body, staged.body);
  EXPECT_EQ(rows().size(), 1u);
}

TEST_F(UploadPushTest, TheRouteSendsIncomingFilesOfPushWorkspacesThisWay) {
  EXPECT_TRUE(relay());
  auto handling = receive_uploads(api.context, *request);
  EXPECT_TRUE(std::holds_alternative<http::Response>(handling)) << "the path was not matched, so there is no id";
  request->path_params.emplace_back("id", target.id.text());
  handling = receive_uploads(api.context, *request);
  ASSERT_TRUE(std::holds_alternative<std::unique_ptr<http::Relay>>(handling));
}

}  // namespace
}  // namespace restante::api
