#include "api/push.h"

#include <gtest/gtest.h>

#include "api/test_api.h"
#include "model/errors.h"

namespace restante::api {
namespace {

using Outcome = http::Forwarded::Outcome;

class PushTest : public testing::Test {
 protected:
  Result<void> check(std::string_view url) { return check_callback(api.context, DeliveryMode::push, url); }
  std::string refusal(std::string_view url) {
    const auto checked = check(url);
    if (checked) return "";
    EXPECT_TRUE(checked.error().is(errors::callback_refused));
    return std::string(checked.error().sentence());
  }
  http::Response send(std::string_view text = "hello", std::string_view metadata = "{}") {
    const auto json = parse_json(R"({"method":"message/send","params":{"message":{"messageId":"m","parts":[{"text":")" +
                                 std::string(text) + R"("}],"metadata":)" + std::string(metadata) + "}}}");
    const auto envelope = desk::normalise_message(*json, api.desk.clock.now());
    Principal admin;
    admin.role = Principal::Role::admin;
    return push_message(api.context, IdempotentRequest(api.context, "/workspaces/:id/a2a"), target,
                        desk::message_row(admin, target.id, *envelope, ""));
  }
  // The request to the callback; null while calls are paused.
  static std::shared_ptr<http::Forward> order_in(const http::Response& response) {
    const auto* forward = std::get_if<std::shared_ptr<http::Forward>>(&response.content);
    return forward ? *forward : nullptr;
  }
  Answer send_and_answer(http::Forwarded came) {
    const auto order = order_in(send());
    if (!order) return {};
    return TestApi::settle(order->then(std::move(came)));
  }
  static http::Forwarded answered(int status, std::string body = "{}") {
    http::Forwarded came;
    came.outcome = Outcome::answered;
    came.status = status;
    came.content_type = "application/json";
    came.body = std::move(body);
    came.took = std::chrono::milliseconds(7);
    return came;
  }
  static http::Forwarded failed(Outcome outcome) {
    http::Forwarded came;
    came.outcome = outcome;
    return came;
  }

  TestApi api;
  Workspace target = api.make_called_workspace("https://agent.example/in");
};

TEST_F(PushTest, APublicUrlMayBeRegistered) { EXPECT_TRUE(check("https://agent.example/in")); }

TEST_F(PushTest, OneAddressThatIsNotPublicRefusesTheName) {
  api.push.resolve = [](const std::string&) { return std::vector<std::string>{"93.184.216.34", "10.0.0.1"}; };
  EXPECT_NE(refusal("https://agent.example/in").find("not public"), std::string::npos);
  api.push.rules.allow_networks = {http::Network::parse("10.0.0.0/8").value()};
  EXPECT_EQ(refusal("https://agent.example/in"), "");
}

TEST_F(PushTest, ANameThatDoesNotResolveIsRefused) {
  api.push.resolve = [](const std::string&) { return std::vector<std::string>(); };
  EXPECT_NE(refusal("https://agent.example/in").find("did not resolve"), std::string::npos);
}

TEST_F(PushTest, APortThatIsNotListedIsRefusedWithoutALookUp) {
  bool asked = false;
  api.push.resolve = [&](const std::string&) {
    asked = true;
    return std::vector<std::string>{"93.184.216.34"};
  };
  EXPECT_NE(refusal("https://agent.example:6379/").find("push.allow_ports"), std::string::npos);
  EXPECT_FALSE(asked);
  api.push.rules.allow_ports = {6379};
  EXPECT_EQ(refusal("https://agent.example:6379/"), "");
}

TEST_F(PushTest, PollWorkspacesAndEmptyUrlsAreNotChecked) {
  EXPECT_TRUE(check_callback(api.context, DeliveryMode::poll, "http://localhost:1/"));
  EXPECT_TRUE(check(""));
  EXPECT_FALSE(check("http://localhost:1/"));
}

TEST_F(PushTest, TheCallbackIsCalledWithItsSecretAndTheAddressRules) {
  const auto order = order_in(send());
  ASSERT_TRUE(order);
  EXPECT_EQ(order->url, target.url);
  EXPECT_EQ(order->reply_cap, 1u << 20);
  const http::Header wanted("Authorization", "Bearer " + *api.secrets.ensure(target.id));
  EXPECT_EQ(std::count(order->headers.begin(), order->headers.end(), wanted), 1);
  EXPECT_TRUE(order->may_connect("93.184.216.34"));
  EXPECT_FALSE(order->may_connect("127.0.0.1"));
}

TEST_F(PushTest, AnAcceptedMessageIsRecordedAsSent) {
  const Answer answer = send_and_answer(answered(200, R"({"result":1})"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, R"({"result":1})");
  const auto rows = api.desk.inbox_of(target.id);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].activity_type, "a2a_send");
  EXPECT_EQ(rows[0].status, "ok");
  EXPECT_EQ(rows[0].duration_ms, 7);
  EXPECT_EQ(rows[0].response_body, R"({"result":1})");
}

TEST_F(PushTest, ACallbackGetsNoTaskFromAClientAndAHeaderNamesWhatWasRemoved) {
  const auto order = order_in(send("hello", R"({"delegation_id":"d1","deadline":"x"})"));
  ASSERT_TRUE(order);
  EXPECT_NE(order->body.find(R"("metadata":{})"), std::string::npos) << order->body;
  const Answer delivered = TestApi::settle(order->then(answered(200, R"({"result":1})")));
  EXPECT_EQ(delivered.body, R"({"result":1})");
  EXPECT_EQ(delivered.header("Restante-Ignored"), "metadata.deadline, metadata.delegation_id");
  const auto again = order_in(send("again", R"({"delegation_id":"d1"})"));
  ASSERT_TRUE(again);
  const Answer queued = TestApi::settle(again->then(failed(Outcome::unreachable)));
  EXPECT_TRUE(queued.body.ends_with(R"(,"ignored":["metadata.delegation_id"]})")) << queued.body;
}

TEST_F(PushTest, AReplyThatIsNotJsonIsPassedOnButNotStored) {
  EXPECT_EQ(send_and_answer(answered(200, "<html>")).body, "<html>");
  EXPECT_EQ(api.desk.inbox_of(target.id).at(0).response_body, "");
}

TEST_F(PushTest, ARefusalIsPassedOnAndTheMessageMayBeSentAgain) {
  EXPECT_EQ(send_and_answer(answered(422)).status, 422);
  EXPECT_EQ(send_and_answer(answered(422)).status, 422);
  const auto rows = api.desk.inbox_of(target.id);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].status, "error");
  EXPECT_EQ(rows[0].error_detail, "callback answered 422");
}

TEST_F(PushTest, AMessageThatIsNeitherAcceptedNorRefusedGoesToTheInbox) {
  int number = 0;
  for (const int status : {101, 300, 301, 302, 307, 308, 429, 500, 502, 503, 599}) {
    target.url = "https://agent.example/" + std::to_string(number++);
    const auto order = order_in(send(std::to_string(status)));
    ASSERT_TRUE(order);
    const Answer answer = TestApi::settle(order->then(answered(status)));
    EXPECT_EQ(answer.status, 200);
    EXPECT_NE(answer.body.find(R"("delivery_mode":"push-fallback","method":"message/send","status":"queued")"),
              std::string::npos)
        << status << answer.body;
    EXPECT_EQ(api.desk.inbox_of(target.id).back().activity_type, "a2a_receive");
  }
  EXPECT_EQ(api.desk.inbox_of(target.id).size(), 11u);
}

TEST_F(PushTest, TheSameUndeliveredMessageIsOneRow) {
  const Answer first = send_and_answer(failed(Outcome::unreachable));
  const Answer second = send_and_answer(failed(Outcome::timed_out));
  EXPECT_EQ(first.body, second.body);
  EXPECT_EQ(api.desk.inbox_of(target.id).size(), 1u);
}

TEST_F(PushTest, AfterFiveFailuresTheCallbackIsNotCalled) {
  for (int i = 0; i < 5; ++i) send_and_answer(failed(Outcome::unreachable));
  const http::Response spared = send();
  EXPECT_FALSE(order_in(spared));
  EXPECT_NE(TestApi::settle(spared).body.find("push-fallback"), std::string::npos);
  api.desk.clock.advance(std::chrono::seconds(1));
  EXPECT_EQ(send_and_answer(answered(200)).status, 200);
  EXPECT_TRUE(order_in(send()));
}

TEST_F(PushTest, ADroppedCallCountsNeitherAsSuccessNorAsFailure) {
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(order_in(send()));
}

TEST_F(PushTest, AStoredUrlThatIsNoLongerAllowedIsNotCalled) {
  for (const char* url : {"", "http://localhost/", "https://agent.example:22/"}) {
    target.url = url;
    EXPECT_FALSE(order_in(send())) << url;
  }
}

TEST_F(PushTest, OnlyAPrintableTypeIsPassedOn) {
  http::Forwarded came = answered(200);
  came.content_type = "text/html\x01";
  EXPECT_EQ(send_and_answer(came).header("Content-Type"), "");
  came.content_type = std::string(300, 'x');
  EXPECT_EQ(send_and_answer(came).header("Content-Type"), "");
  came.content_type = "text/html";
  const Answer page = send_and_answer(came);
  EXPECT_EQ(page.header("Content-Type"), "text/html");
  EXPECT_NE(page.header("Content-Security-Policy").find("sandbox"), std::string::npos);
}

}  // namespace
}  // namespace restante::api
