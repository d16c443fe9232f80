#include "api/idempotency.h"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "api/test_api.h"

namespace restante::api {
namespace {

Digest digest(std::string_view text) { return digest_of(parse_json(text).value()); }

TEST(RequestDigest, IsTheSameForTheSameJsonInAnySpelling) {
  const std::pair<const char*, const char*> kSame[] = {
      {R"({"a":1,"b":[true,null]})", "{ \"b\" : [true, null],\n\"a\" : 1 }"},
      {R"({"a":{"x":1,"y":2}})", R"({"a":{"y":2,"x":1}})"},
      {R"("\u00e9\/")", R"("é/")"},
      {"1", "1.0"},
      {"100", "1e2"},
      {"100", "1E+2"},
      {"0.01", "1e-2"},
      {"0", "-0.0e7"},
      {"-12.50", "-1.25e1"},
  };
  for (const auto& [a, b] : kSame) EXPECT_EQ(digest(a), digest(b)) << a << " " << b;
}

TEST(RequestDigest, DiffersForDifferentJson) {
  const char* kAll[] = {"{}",
                        "[]",
                        "null",
                        "false",
                        "0",
                        R"("0")",
                        R"("")",
                        R"({"a":1})",
                        "[1,2]",
                        "[2,1]",
                        "12",
                        "-12",
                        "1.2",
                        "0.12",
                        R"({"a":"1"})",
                        R"({"b":1})",
                        "[[1]]",
                        R"({"a":null})",
                        "1e300",
                        "1e301",
                        "9007199254740993",
                        "9007199254740992"};
  std::set<Digest> seen;
  for (const char* text : kAll) EXPECT_TRUE(seen.insert(digest(text)).second) << text;
}

TEST(KeptAnswers, AreReadBackUnchanged) {
  http::Response relayed;
  relayed.status = 422;
  relayed.headers = {{"Content-Type", "text/html; charset=x"}, {"Content-Security-Policy", "sandbox"}};
  for (const std::string& body : {std::string("plain \"text\" é\n"), std::string("\0\xff binary", 9),
                                  std::string("nul\0 in text", 12), std::string()}) {
    relayed.content = body;
    const std::string kept = keep(relayed);
    EXPECT_TRUE(parse_json(kept).has_value());
    const http::Response again = replay(kept);
    EXPECT_EQ(again.status, 422);
    EXPECT_EQ(again.headers, relayed.headers);
    EXPECT_EQ(std::get<std::string>(again.content), body);
  }
  const http::Response own = replay(keep(http::json(201, R"({"a":1})")));
  EXPECT_EQ(own.status, 201);
  EXPECT_EQ(own.content_type, http::kJson);
  EXPECT_TRUE(own.headers.empty());
  EXPECT_EQ(std::get<std::string>(own.content), R"({"a":1})");
}

TEST(KeptAnswers, ADamagedAnswerIsNotPassedOnInPart) {
  for (const char* kept :
       {"", "{", "7", "{}", R"({"status":200})", R"({"status":"200","type":"","headers":[],"body":""})",
        R"({"status":200,"type":"","headers":{},"body":""})", R"({"status":200,"headers":[],"body":""})",
        R"({"status":200,"type":"","headers":[7],"body":""})",
        R"({"status":200,"type":"","headers":[["a"]],"body":""})",
        R"({"status":200,"type":"","headers":[["a",7]],"body":""})", R"({"status":200,"type":"","headers":[]})",
        R"({"status":200,"type":"","headers":[],"hex":7})"}) {
    EXPECT_THROW((void)replay(kept), Unavailable) << kept;
  }
}

class IdempotencyTest : public testing::Test {
 protected:
  Answer post(std::string target, std::string_view secret, std::string json, std::optional<std::string> key = "k") {
    Ask asked;
    asked.method = "POST";
    asked.target = std::move(target);
    asked.bearer(secret).json(std::move(json));
    if (key) asked.with("Idempotency-Key", *key);
    return api.ask(asked);
  }
  Answer notify(std::string_view text, std::optional<std::string> key = "k") {
    return post(api.path("/notify"), api.agent, R"({"message":")" + std::string(text) + R"("})", std::move(key));
  }
  static std::string message(std::string_view text) {
    return R"({"method":"message/send","params":{"message":{"parts":[{"kind":"text","text":")" + std::string(text) +
           R"("}]}}})";
  }
  std::size_t rows() { return api.desk.inbox_of(api.workspace).size(); }
  static void expect_error(const Answer& answer, int status, std::string_view code) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_NE(answer.body.find(R"("code":")" + std::string(code) + '"'), std::string::npos) << answer.body;
  }

  TestApi api;
};

TEST_F(IdempotencyTest, TheSameRequestHasOneEffectAndOneAnswer) {
  const std::pair<std::string, std::string> kRequests[] = {
      {api.path("/a2a"), message("hi")},
      {api.path("/notify"), R"({"message":"hi"})"},
      {api.path("/activity"), R"({"activity_type":"agent_log","summary":"hi"})"},
  };
  std::size_t expected = 0;
  for (const auto& [target, body] : kRequests) {
    const Answer first = post(target, api.agent, body);
    EXPECT_EQ(first.status, 200) << target << first.body;
    const Answer again = post(target, api.agent, " " + body);
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(again.body, first.body) << target;
    EXPECT_EQ(again.headers, first.headers);
    EXPECT_EQ(rows(), ++expected) << target;
    EXPECT_EQ(post(target, api.agent, body, "another-key").status, 200);
    EXPECT_EQ(post(target, api.agent, body, std::nullopt).status, 200);
    EXPECT_EQ(rows(), expected += 2) << target;
  }
}

TEST_F(IdempotencyTest, AnotherRequestUnderTheSameKeyIsRefused) {
  EXPECT_EQ(notify("a").status, 200);
  expect_error(notify("b"), 422, "idempotency_mismatch");
  EXPECT_EQ(notify("a").status, 200);
  EXPECT_EQ(rows(), 1u);
}

TEST_F(IdempotencyTest, KeysOfOtherRoutesWorkspacesAndPrincipalsAreDifferentKeys) {
  const std::string body = message("hi");
  const std::string second_person = api.desk.give_token(TokenKind::sender, api.workspace);
  const std::string neighbour = api.desk.give_token(TokenKind::workspace, api.other);
  std::size_t expected = 0;
  for (const std::string& who : {api.agent, api.admin, api.sender, second_person, neighbour}) {
    EXPECT_EQ(post(api.path("/a2a"), who, body).status, 200);
    EXPECT_EQ(rows(), ++expected);
  }
  EXPECT_EQ(notify("hi").status, 200);
  EXPECT_EQ(rows(), ++expected) << "another route";
  EXPECT_EQ(post("/workspaces/" + api.other.text() + "/a2a", api.agent, body).status, 200);
  EXPECT_EQ(api.desk.inbox_of(api.other).size(), 1u) << "another :id";
}

TEST_F(IdempotencyTest, AnAgentWithANewTokenIsTheSamePrincipal) {
  const Answer first = post(api.path("/a2a"), api.agent, message("hi"));
  api.desk.revoke(api.agent);
  const std::string fresh = api.desk.give_token(TokenKind::workspace, api.workspace);
  EXPECT_EQ(post(api.path("/a2a"), fresh, message("hi")).body, first.body);
  EXPECT_EQ(rows(), 1u);
}

TEST_F(IdempotencyTest, AnIdInAnotherLetterCaseIsTheSameRoute) {
  EXPECT_EQ(notify("hi").status, 200);
  std::string upper = api.workspace.text();
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  EXPECT_EQ(post("/workspaces/" + upper + "/notify", api.agent, R"({"message":"hi"})").status, 200);
  EXPECT_EQ(rows(), 1u);
}

TEST_F(IdempotencyTest, AKeyIsOneToTwoHundredFiftyFiveVisibleCharacters) {
  for (const std::string& key : {std::string("k"), std::string(255, 'x'), std::string("!\"#~{}:;,")}) {
    EXPECT_EQ(notify("hi", key).status, 200) << key;
  }
  for (const std::string& key :
       {std::string(), std::string(256, 'x'), std::string("a b"), std::string("a\tb"), std::string("é")}) {
    expect_error(notify("hi", key), 400, "bad_idempotency_key");
  }
  Ask twice;
  twice.method = "POST";
  twice.target = api.path("/notify");
  twice.bearer(api.agent).json(R"({"message":"hi"})").with("Idempotency-Key", "a").with("idempotency-key", "a");
  expect_error(api.ask(twice), 400, "bad_idempotency_key");
  EXPECT_EQ(rows(), 3u);
}

TEST_F(IdempotencyTest, ARefusedRequestHadNoEffectAndMayBeCorrected) {
  EXPECT_EQ(post(api.path("/notify"), api.agent, R"({"message":7})").status, 400);
  EXPECT_EQ(notify("hi").status, 200);
  EXPECT_EQ(rows(), 1u);
}

TEST_F(IdempotencyTest, AnAnswerIsKeptForADay) {
  EXPECT_EQ(notify("a").status, 200);
  api.desk.clock.advance(std::chrono::hours(24));
  EXPECT_EQ(notify("a").status, 200);
  expect_error(notify("b"), 422, "idempotency_mismatch");
  EXPECT_EQ(rows(), 1u);
  api.desk.clock.advance(std::chrono::hours(2));
  EXPECT_EQ(notify("b").status, 200);
  EXPECT_EQ(rows(), 2u);
}

TEST_F(IdempotencyTest, TheAnswerIsKeptWhateverHappenedToTheTarget) {
  const std::string to_other = "/workspaces/" + api.other.text() + "/a2a";
  const Answer first = post(to_other, api.admin, message("hi"));
  ASSERT_TRUE(api.desk.store->remove_workspace(api.other, api.desk.clock.now()).take());
  EXPECT_EQ(post(to_other, api.admin, message("hi")).body, first.body);
  EXPECT_EQ(post(to_other, api.admin, message("hi"), std::nullopt).status, 410);
}

TEST_F(IdempotencyTest, AReplayOfACreatedWorkspaceNeverRepeatsTheToken) {
  const Answer first = post("/workspaces", api.admin, R"({"name":"a"})");
  ASSERT_EQ(first.status, 201) << first.body;
  const auto made = parse_json(first.body).value();
  const std::string token = *made.find("connection")->find("enrolment_token")->if_string();
  const auto count = api.desk.workspaces.list().size();
  const Answer again = post("/workspaces", api.admin, R"({"name":"a"})");
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body.find(token), std::string::npos);
  const auto replayed = parse_json(again.body).value();
  EXPECT_EQ(replayed.find("id")->dump(), made.find("id")->dump());
  const Json& connection = *replayed.find("connection");
  EXPECT_NE(again.body.find(R"("auth_token_shown":true)"), std::string::npos) << again.body;
  EXPECT_FALSE(connection.find("enrolment_token"));
  EXPECT_FALSE(connection.find("connect_command"));
  for (const char* name : {"workspace_id", "platform_url", "expires_at"}) {
    EXPECT_EQ(connection.find(name)->dump(), made.find("connection")->find(name)->dump()) << name;
  }
  EXPECT_EQ(api.desk.workspaces.list().size(), count);
  expect_error(post("/workspaces", api.admin, R"({"name":"b"})"), 422, "idempotency_mismatch");
  EXPECT_TRUE(api.desk.principals.by_token(token)) << "the first one is good";
}

TEST_F(IdempotencyTest, OfManyAtOnceOneHasAnEffect) {
  constexpr int kMany = 16;
  std::barrier together(kMany);
  std::vector<Answer> answers(kMany);
  {
    std::vector<std::jthread> threads;
    for (Answer& answer : answers) {
      threads.emplace_back([&] {
        together.arrive_and_wait();
        answer = post(api.path("/a2a"), api.agent, message("hi"));
      });
    }
  }
  const Answer settled = post(api.path("/a2a"), api.agent, message("hi"));
  EXPECT_EQ(settled.status, 200);
  for (const Answer& answer : answers) {
    if (answer.status == 409) {
      expect_error(answer, 409, "idempotency_in_progress");
    } else {
      EXPECT_EQ(answer.body, settled.body);
    }
  }
  EXPECT_EQ(rows(), 1u);
}

TEST_F(IdempotencyTest, AKeyIsInUseUntilItsCommitIsSettledAndFreeWhenThatFails) {
  http::Request request;
  ASSERT_FALSE(
      http::parse_head("POST /any HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\n\r\n", http::Limits(), request));
  request.caller = Principal{Principal::Role::admin, {}, {}, false};
  const auto refused = [&] {
    IdempotentRequest another(api.context, "/any");
    return another.begin(request, Json::object()).has_value();
  };
  CommitPromise<Result<Appended>> promise;
  {
    IdempotentRequest idempotent(api.context, "/any");
    ASSERT_FALSE(idempotent.begin(request, Json::object()));
    idempotent.perform<Appended>([&](const OptionalClaim<Appended>&) { return promise.commit(); },
                                 [](const Result<Appended>&) { return http::json(200, "{}"); });
  }
  EXPECT_TRUE(refused()) << "no client waits for the answer any more, but it is still being written";
  promise.fail(std::make_exception_ptr(Unavailable("lost")));
  EXPECT_FALSE(refused());
}

TEST_F(IdempotencyTest, EveryKindOfCallerHasSeparateKeys) {
  using Role = Principal::Role;
  const Principal kCallers[] = {
      {Role::admin, {}, {}, false},
      {Role::workspace, api.workspace, {}, false},
      {Role::workspace, api.other, {}, false},
      {Role::sender, api.workspace, TokenId::make(desk::kStart), false},
      {Role::sender, api.workspace, TokenId::make(desk::kStart), false},
      {Role::enrolment, api.workspace, TokenId::make(desk::kStart), false},
      {Role::anonymous, {}, {}, false},
  };
  std::vector<IdempotentRequest> held;
  const auto enter = [&](const Principal& caller) {
    http::Request request;
    EXPECT_FALSE(
        http::parse_head("POST /any HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\n\r\n", http::Limits(), request));
    request.caller = caller;
    return held.emplace_back(api.context, "/any").enter(request);
  };
  for (const Principal& caller : kCallers) EXPECT_FALSE(enter(caller)) << "the key of another caller is in use";
  for (const Principal& caller : kCallers) {
    auto refused = enter(caller);
    ASSERT_TRUE(refused);
    expect_error(TestApi::settle(std::move(*refused)), 409, "idempotency_in_progress");
  }
}

TEST_F(IdempotencyTest, AKeyWithBytesThatNoHeadMayContainIsNoKey) {
  http::Request request;
  request.headers.emplace_back("Idempotency-Key", "a\x7f");
  request.caller = Principal{Principal::Role::admin, {}, {}, false};
  auto refused = IdempotentRequest(api.context, "/any").enter(request);
  ASSERT_TRUE(refused);
  expect_error(TestApi::settle(std::move(*refused)), 400, "bad_idempotency_key");
}

// Several servers may share a database: between look-up and claim, another one can have got the same request.
TEST_F(IdempotencyTest, TheAnswerOfAnotherServerMeanwhileIsTheAnswer) {
  http::Request request;
  ASSERT_FALSE(
      http::parse_head("POST /any HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\n\r\n", http::Limits(), request));
  request.caller = Principal{Principal::Role::admin, {}, {}, false};
  IdempotentRequest idempotent(api.context, "/any");
  ASSERT_FALSE(idempotent.begin(request, Json::object()));
  const Error theirs = answered_before(keep(http::json(201, R"({"by":"another"})")));
  const Answer answer = TestApi::settle(idempotent.perform<Appended>(
      [&](const OptionalClaim<Appended>&) { return Commit<Result<Appended>>::ready(theirs); },
      [](const Result<Appended>&) { return http::json(200, R"({"by":"us"})"); }));
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, R"({"by":"another"})");
}

class PushedIdempotencyTest : public IdempotencyTest {
 protected:
  PushedIdempotencyTest() : target(api.desk.make_workspace(DeliveryMode::push)) {}

  // Sends the message under that key, up to the end of the handler.
  http::Response send(std::string_view text = "hi", std::string_view key = "k") {
    http::Request request;
    const std::string body = message(text);
    const auto broken = http::parse_head("POST /workspaces/" + target.text() +
                                             "/a2a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                                             "Content-Length: " +
                                             std::to_string(body.size()) + "\r\nAuthorization: Bearer " + api.admin +
                                             "\r\nIdempotency-Key: " + std::string(key) + "\r\n\r\n",
                                         http::Limits(), request);
    EXPECT_FALSE(broken);
    request.body = body;
    const auto match = api.router.match(request);
    EXPECT_FALSE(match.route->admit(request));
    return match.route->handle(request);
  }
  // The request to the callback; null when it is not called.
  static std::shared_ptr<http::Forward> order_in(const http::Response& response) {
    const auto* forward = std::get_if<std::shared_ptr<http::Forward>>(&response.content);
    return forward ? *forward : nullptr;
  }
  static http::Forwarded answered(int status, std::string body) {
    http::Forwarded came;
    came.outcome = http::Forwarded::Outcome::answered;
    came.status = status;
    came.content_type = "text/x-any";
    came.body = std::move(body);
    return came;
  }

  WorkspaceId target;
};

TEST_F(PushedIdempotencyTest, ARepeatedMessageIsNotForwardedAgain) {
  for (const int status : {200, 404}) {
    const std::string key = std::to_string(status);
    const auto order = order_in(send("hi", key));
    ASSERT_TRUE(order);
    const Answer first = TestApi::settle(order->then(answered(status, "\xff said")));
    EXPECT_EQ(first.status, status);
    const http::Response repeated = send("hi", key);
    ASSERT_FALSE(order_in(repeated)) << "the callback is not asked again";
    const Answer again = TestApi::settle(repeated);
    EXPECT_EQ(again.status, status);
    EXPECT_EQ(again.body, "\xff said");
    EXPECT_EQ(again.headers, first.headers);
    expect_error(TestApi::settle(send("other", key)), 422, "idempotency_mismatch");
  }
  EXPECT_EQ(api.desk.inbox_of(target).size(), 2u);
}

TEST_F(PushedIdempotencyTest, AFallbackIsKeptToo) {
  const auto order = order_in(send());
  ASSERT_TRUE(order);
  const Answer first = TestApi::settle(order->then(http::Forwarded()));
  EXPECT_NE(first.body.find("push-fallback"), std::string::npos);
  const http::Response repeated = send();
  ASSERT_FALSE(order_in(repeated));
  EXPECT_EQ(TestApi::settle(repeated).body, first.body);
  EXPECT_EQ(api.desk.inbox_of(target).size(), 1u);
}

TEST_F(PushedIdempotencyTest, WhileTheCallbackIsCalledTheKeyIsInUse) {
  auto order = order_in(send());
  ASSERT_TRUE(order);
  expect_error(TestApi::settle(send()), 409, "idempotency_in_progress");
  expect_error(TestApi::settle(send("other")), 409, "idempotency_in_progress");
  EXPECT_TRUE(order_in(send("hi", "another-key")));
  TestApi::settle(order->then(answered(200, "yes")));
  EXPECT_EQ(TestApi::settle(send()).body, "yes") << "free although the order is still held";
}

TEST_F(PushedIdempotencyTest, AKeyIsFreeWhenItsRequestIsDropped) {
  ASSERT_TRUE(order_in(send())) << "and no client waits for it";
  EXPECT_TRUE(order_in(send()));
}

TEST_F(PushedIdempotencyTest, AKeyIsFreeOnceTheRowIsDurableAlthoughTheClientClosed) {
  const auto order = order_in(send());
  ASSERT_TRUE(order);
  const http::Response recorded = order->then(answered(200, "yes"));
  std::promise<void> durable;
  std::get<std::shared_ptr<http::Later>>(recorded.content)->when_done([&] { durable.set_value(); });
  durable.get_future().wait();
  const http::Response repeated = send();
  ASSERT_FALSE(order_in(repeated));
  EXPECT_EQ(TestApi::settle(repeated).body, "yes");
}

}  // namespace
}  // namespace restante::api
