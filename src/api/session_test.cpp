#include "api/handlers.h"

#include <gtest/gtest.h>

#include "api/test_api.h"
#include "http/addresses.h"

namespace restante::api {
namespace {

Ask sign_in_with(std::string_view token) {
  Ask asked;
  asked.method = "POST";
  asked.target = "/session";
  asked.with("Origin", "http://localhost:8080");
  return asked.json(R"({"token":")" + std::string(token) + R"("})");
}

std::string secret_in(const std::string& cookie) {
  const auto begin = cookie.find('=') + 1;
  return cookie.substr(begin, cookie.find(';') - begin);
}

TEST(SessionApi, TheCookieIsOnlyForThisHostAndNotReadableByScripts) {
  TestApi api;
  const Answer answer = api.ask(sign_in_with(api.admin));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const std::string cookie = answer.header("Set-Cookie");
  const std::string secret = secret_in(cookie);
  EXPECT_TRUE(looks_like_token(secret));
  EXPECT_EQ(cookie, "__Host-restante=" + secret + "; Path=/; Max-Age=86400; HttpOnly; Secure; SameSite=Strict");
  EXPECT_NE(secret, api.admin);
  EXPECT_EQ(answer.body, R"({"role":"admin"})");
}

TEST(SessionApi, ASenderSignsInToItsChatAndAnAgentNotAtAll) {
  TestApi api;
  EXPECT_TRUE(api.ask(sign_in_with(api.sender))
                  .body.starts_with(R"({"role":"sender","workspace_id":")" + api.workspace.text() + R"(")"));
  EXPECT_EQ(api.ask(sign_in_with(api.agent)).status, 403);
  EXPECT_EQ(api.ask(sign_in_with(make_token().secret)).status, 401);
  EXPECT_EQ(api.ask(sign_in_with("")).status, 400);
}

TEST(SessionApi, SigningInIsForOurOwnPagesOverTlsOrLoopback) {
  TestApi api;
  const auto status = [&](auto change) {
    Ask asked = sign_in_with(api.admin);
    change(asked);
    const Answer answer = api.ask(asked);
    EXPECT_TRUE(answer.status == 200 || answer.header("Set-Cookie").empty());
    return answer.status;
  };
  EXPECT_EQ(status([](Ask& a) { a.headers[0].second = "https://evil.example"; }), 403);
  EXPECT_EQ(status([](Ask& a) { a.headers.erase(a.headers.begin()); }), 403) << "no origin at all";
  EXPECT_EQ(status([](Ask& a) { a.with("Host", "evil.example"); }), 421);
  EXPECT_EQ(status([](Ask& a) { a.peer = "192.0.2.7"; }), 403) << "plain http from another machine";
  EXPECT_EQ(status([](Ask& a) {
              a.peer = "192.0.2.7";
              a.secure = true;
            }),
            200);
  EXPECT_EQ(status([](Ask& a) { a.headers[1].second = "text/plain"; }), 415) << "a form of another page";
}

TEST(SessionApi, SigningInWithInvalidTokensIsLimitedLikeAnyOtherUse) {
  TestApi api;
  while (!api.invalid_token_limiter.count_invalid(http::limit_key("127.0.0.1"))) {
  }
  const Answer refused = api.ask(sign_in_with(make_token().secret));
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_EQ(refused.header("Retry-After"), "60");
  EXPECT_EQ(api.ask(sign_in_with(api.agent)).status, 403) << "a token of ours, only not for people";
  EXPECT_EQ(api.ask(sign_in_with(api.admin)).status, 200);
}

TEST(SessionApi, WhoAmIReturnsTheRoleOfEveryKindOfCaller) {
  TestApi api;
  const std::string of = R"(,"workspace_id":")" + api.workspace.text() + R"(","token_id":")";
  EXPECT_EQ(api.get("/session", api.admin).body, R"({"role":"admin"})");
  EXPECT_TRUE(api.get("/session", api.sender).body.starts_with(R"({"role":"sender")" + of));
  EXPECT_TRUE(api.get("/session", api.agent).body.starts_with(R"({"role":"workspace")" + of));
  const std::string enrolment = api.desk.give_token(TokenKind::enrolment, api.workspace);
  EXPECT_TRUE(api.get("/session", enrolment).body.starts_with(R"({"role":"enrolment")" + of))
      << "an agent learns its workspace before it registers";
}

TEST(SessionApi, APersonIsTheSameWithTheTokenAndWithItsSessionsAndAnotherWithAnotherToken) {
  TestApi api;
  const std::string other = api.desk.give_token(TokenKind::sender, api.workspace);
  for (const std::string& secret : {api.sender, other, api.admin}) {
    const Answer in = api.ask(sign_in_with(secret));
    Ask asked;
    asked.target = "/session";
    asked.with("Cookie", "__Host-restante=" + secret_in(in.header("Set-Cookie"))).with("Sec-Fetch-Site", "same-origin");
    EXPECT_EQ(api.ask(asked).body, in.body);
    EXPECT_EQ(api.get("/session", secret).body, in.body);
  }
  EXPECT_NE(api.get("/session", api.sender).body, api.get("/session", other).body);
}

TEST(SessionApi, StreamsOfASessionCountAgainstTheTokenThatOpenedIt) {
  TestApi api;
  const std::string sender = api.desk.store->find_token(sha256(api.sender))->id.text();
  for (const auto& [secret, owner] : {std::pair(api.sender, sender), std::pair(api.admin, std::string("admin"))}) {
    const std::string cookie = secret_in(api.ask(sign_in_with(secret)).header("Set-Cookie"));
    Ask asked;
    asked.target = api.path("/events/stream");
    asked.with("Cookie", "__Host-restante=" + cookie).with("Sec-Fetch-Site", "same-origin");
    EXPECT_EQ(api.ask(asked).stream->owner, owner);
    EXPECT_EQ(api.get(asked.target, secret).stream->owner, owner);
  }
}

TEST(SessionApi, SigningOutEndsTheSessionOnTheServerToo) {
  TestApi api;
  const std::string secret = secret_in(api.ask(sign_in_with(api.admin)).header("Set-Cookie"));
  Ask asked;
  asked.target = "/session";
  asked.with("Cookie", "__Host-restante=" + secret).with("Sec-Fetch-Site", "same-origin");
  EXPECT_EQ(api.ask(asked).status, 200);
  asked.method = "DELETE";
  const Answer out = api.ask(asked);
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(out.header("Set-Cookie"), "__Host-restante=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Strict");
  asked.method = "GET";
  EXPECT_EQ(api.ask(asked).status, 401);
}

}  // namespace
}  // namespace restante::api
