// Who may call what: every route of the table with every kind of caller.
#include "api/guards.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "api/test_api.h"
#include "base/json.h"
#include "http/addresses.h"
#include "http/credentials.h"

namespace restante::api {
namespace {

struct Caller {
  const char* name;
  Ask ask;
};

std::vector<Caller> callers(TestApi& api) {
  auto& desk = api.desk;
  const auto bearer = [](const char* name, std::string_view secret) {
    Caller caller{name, {}};
    caller.ask.bearer(secret);
    return caller;
  };
  const auto cookie = [](const char* name, const std::string& secret, const char* host, const char* origin) {
    Caller caller{name, {}};
    caller.ask.with("Cookie", "theme=dark; " + std::string(http::kSessionCookie) + "=" + secret);
    caller.ask.with("Host", host);
    if (*origin) caller.ask.with("Origin", origin);
    return caller;
  };
  const std::string revoked = desk.give_token(TokenKind::workspace, api.workspace);
  desk.revoke(revoked);
  const std::string expired = desk.give_token(TokenKind::sender, api.workspace, desk.clock.now());
  const std::string admin_session = desk.principals.open_session(api.admin)->secret;
  const std::string sender_session = desk.principals.open_session(api.sender)->secret;
  const std::string closed_session = desk.principals.open_session(api.admin)->secret;
  desk.principals.close_session(*desk.principals.by_session(closed_session));
  std::vector<Caller> all{
      {"none", {}},
      bearer("wrong", make_token().secret),
      bearer("revoked", revoked),
      bearer("expired", expired),
      bearer("agent", api.agent),
      bearer("sender", api.sender),
      bearer("enrolment", desk.give_token(TokenKind::enrolment, api.workspace)),
      bearer("other_agent", desk.give_token(TokenKind::workspace, api.other)),
      bearer("other_sender", desk.give_token(TokenKind::sender, api.other)),
      bearer("admin", api.admin),
      bearer("session_as_bearer", admin_session),
      cookie("admin_session", admin_session, "localhost:8080", "http://localhost:8080"),
      cookie("sender_session", sender_session, "localhost:8080", "http://localhost:8080"),
      cookie("closed_session", closed_session, "localhost:8080", "http://localhost:8080"),
      cookie("bearer_as_session", api.admin, "localhost:8080", "http://localhost:8080"),
      cookie("session_foreign_origin", admin_session, "localhost:8080", "https://evil.example"),
      cookie("session_foreign_host", admin_session, "evil.example", "http://evil.example"),
  };
  Caller basic{"basic", {}};
  basic.ask.with("Authorization", "Basic " + api.admin);
  Caller bare{"bearer_without_token", {}};
  bare.ask.with("Authorization", "Bearer");
  Caller twice{"two_headers", {}};
  twice.ask.bearer(api.admin).bearer(api.agent);
  all.insert(all.end(), {basic, bare, twice});
  return all;
}

// The callers that a guard admits; all others are refused.
const std::map<std::string, std::set<std::string>> kAdmitted = {
    {"admin", {"admin", "admin_session"}},
    {"agent", {"agent", "admin", "admin_session"}},
    {"member", {"agent", "sender", "admin", "admin_session", "sender_session"}},
    {"token", {"agent", "sender", "other_agent", "other_sender", "admin", "admin_session", "sender_session"}},
    {"registrant",
     {"agent", "sender", "enrolment", "other_agent", "other_sender", "admin", "admin_session", "sender_session"}},
    {"metrics", {"admin", "admin_session"}},
};

// Every route by name. One that is missing here fails the test: a new route must name its guard.
const std::map<std::string, std::string> kGuards = {
    {"GET /health", "anyone"},
    {"GET /healthz", "anyone"},
    {"GET /ready", "anyone"},
    {"GET /metrics", "metrics"},
    {"GET /uploads/limits", "anyone"},
    {"GET /download/:file", "anyone"},
    {"POST /session", "anyone"},
    {"GET /session", "registrant"},
    {"DELETE /session", "token"},
    {"POST /workspaces", "admin"},
    {"GET /workspaces", "admin"},
    {"GET /workspaces/:id", "member"},
    {"GET /workspaces/:id/state", "agent"},
    {"PATCH /workspaces/:id", "agent"},
    {"DELETE /workspaces/:id", "admin"},
    {"GET /workspaces/:id/tokens", "agent"},
    {"POST /workspaces/:id/tokens", "agent"},
    {"DELETE /workspaces/:id/tokens/:tokenId", "agent"},
    {"GET /admin/invites", "admin"},
    {"DELETE /admin/invites/:tokenId", "admin"},
    {"POST /admin/invites", "admin"},
    {"GET /registry/:id/peers", "agent"},
    {"GET /registry/discover/:id", "token"},
    {"POST /registry/check-access", "token"},
    {"GET /admin/liveness", "admin"},
    {"GET /admin/health", "admin"},
    {"POST /admin/clock/accept", "admin"},
    {"GET /admin/series", "admin"},
    {"POST /admin/token/rotate", "admin"},
    {"POST /admin/workspaces/:id/tokens", "admin"},
    {"POST /registry/register", "registrant"},
    {"POST /registry/heartbeat", "token"},
    {"POST /registry/update-card", "token"},
    {"POST /workspaces/:id/inbound-secret", "agent"},
    {"GET /workspaces/:id/activity", "member"},
    {"GET /workspaces/:id/chat-history", "member"},
    {"GET /workspaces/:id/events/stream", "member"},
    {"GET /events/stream", "admin"},
    {"POST /workspaces/:id/activity", "agent"},
    {"POST /workspaces/:id/activity/ack", "agent"},
    {"GET /workspaces/:id/activity/ack", "member"},
    {"POST /workspaces/:id/notify", "agent"},
    {"POST /workspaces/:id/a2a", "token"},
    {"GET /workspaces/:id/pending-uploads", "member"},
    {"GET /workspaces/:id/pending-uploads/:fid", "member"},
    {"GET /workspaces/:id/pending-uploads/:fid/content", "member"},
    {"DELETE /workspaces/:id/pending-uploads/:fid", "member"},
    {"POST /workspaces/:id/pending-uploads/:fid/ack", "agent"},
    {"POST /workspaces/:id/pending-uploads/:fid/fail", "agent"},
    {"GET /admin/uploads", "admin"},
    {"GET /admin/uploads/stats", "admin"},
    {"POST /admin/sweep", "admin"},
    {"GET /admin/blobs", "admin"},
    {"POST /admin/blobs/migration", "admin"},
    {"POST /admin/blobs/migration/finish", "admin"},
    {"POST /admin/blobs/check", "admin"},
    {"GET /admin/blobs/check", "admin"},
    {"POST /workspaces/:id/delegate", "agent"},
    {"GET /workspaces/:id/delegations", "agent"},
    {"POST /workspaces/:id/delegations/record", "agent"},
    {"GET /workspaces/:id/delegations/:did", "agent"},
    {"POST /workspaces/:id/delegations/:did/update", "agent"},
    {"POST /workspaces/:id/delegations/:did/heartbeat", "agent"},
    {"POST /workspaces/:id/delegations/:did/cancel", "agent"},
    {"GET /admin/delegations", "admin"},
    {"GET /admin/delegations/stats", "admin"},
    {"GET /admin/delegations/:did", "admin"},
    {"POST /workspaces/:id/chat/uploads", "member"},
    {"GET /", "page"},
};

std::pair<int, std::string> refusal_of(const std::string& guard, const std::string& caller) {
  if (caller == "session_foreign_origin") return {403, "foreign_origin"};
  if (caller == "session_foreign_host") return {421, "foreign_host"};
  if (caller == "two_headers") return {400, "bad_parameter"};
  if (guard == "admin" || guard == "metrics") return {401, "admin_required"};
  const bool none = caller == "none" || caller == "basic" || caller == "bearer_without_token";
  return {401, none ? "missing_token" : "invalid_token"};
}

std::string fill(std::string pattern, std::string_view name, const std::string& value) {
  const auto at = pattern.find(name);
  return at == std::string::npos ? pattern : pattern.replace(at, name.size(), value);
}

void expect_error_body(const Answer& answer, const std::string& code) {
  const auto json = parse_json(answer.body);
  ASSERT_TRUE(json.has_value()) << answer.body;
  EXPECT_EQ(json->dump(), answer.body) << "compact";
  ASSERT_TRUE(json->find("error") && json->find("error")->if_string()) << answer.body;
  ASSERT_TRUE(json->find("code") && json->find("code")->if_string()) << answer.body;
  EXPECT_EQ(*json->find("code")->if_string(), code);
}

TEST(Guards, EveryRouteAgainstEveryCaller) {
  TestApi api;
  const std::string file = api.upload(api.sender);
  const auto all_callers = callers(api);
  for (const http::Route& route : api.router.routes()) {
    const std::string name = std::string(name_of(route.method)) + " " + route.pattern;
    SCOPED_TRACE(name);
    const auto guard = kGuards.find(name);
    if (guard == kGuards.end()) {
      ADD_FAILURE() << "this route has no expectation: who may call it?";
      continue;
    }
    for (const Caller& caller : all_callers) {
      SCOPED_TRACE(caller.name);
      Ask asked = caller.ask;
      asked.method = name_of(route.method);
      asked.target = fill(fill(route.pattern, ":id", api.workspace.text()), ":fid", file);
      asked.guard_only = true;
      const Answer answer = api.ask(asked);
      if (guard->second == "anyone") {
        EXPECT_TRUE(answer.admitted);
      } else if (guard->second == "page") {
        EXPECT_EQ(answer.admitted, std::string(caller.name) != "session_foreign_host");
      } else if (kAdmitted.at(guard->second).contains(caller.name)) {
        EXPECT_TRUE(answer.admitted) << answer.status << " " << answer.body;
      } else {
        const auto [status, code] = refusal_of(guard->second, caller.name);
        EXPECT_FALSE(answer.admitted);
        EXPECT_EQ(answer.status, status) << answer.body;
        expect_error_body(answer, code);
        EXPECT_EQ(answer.header("WWW-Authenticate"), status == 401 ? "Bearer" : "");
        for (const auto& [header, value] : asked.headers) {
          if (header == "Authorization" || header == "Cookie") {
            EXPECT_EQ(answer.body.find(value.substr(value.size() / 2)), std::string::npos) << "echoes its secret";
          }
        }
      }
    }
  }
  for (const auto& [name, guard] : kGuards) {
    const bool known = std::any_of(api.router.routes().begin(), api.router.routes().end(), [&](const auto& route) {
      return std::string(name_of(route.method)) + " " + route.pattern == name;
    });
    EXPECT_TRUE(known) << name << " is expected and not in the table";
  }
}

TEST(Guards, ARefusalIsTheSameWhetherTheWorkspaceExistsOrNot) {
  TestApi api;
  const std::string foreign = api.desk.give_token(TokenKind::workspace, api.other);
  const Answer there = api.get(api.path("/activity"), foreign);
  const Answer nowhere = api.get("/workspaces/" + WorkspaceId::make(desk::kStart).text() + "/activity", foreign);
  EXPECT_EQ(there.status, 401);
  EXPECT_EQ(there.body, nowhere.body);
  EXPECT_EQ(there.status, nowhere.status);
}

TEST(Guards, AnIdThatIsNotAUuidIsABadRequestForAValidToken) {
  TestApi api;
  const Answer answer = api.get("/workspaces/<script>/activity", api.admin);
  EXPECT_EQ(answer.status, 400);
  expect_error_body(answer, "bad_id");
  EXPECT_EQ(answer.body.find("script"), std::string::npos);
}

TEST(Guards, IdsAreTheSameInAnyLetterCase) {
  TestApi api;
  std::string upper = api.workspace.text();
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  EXPECT_EQ(api.get("/workspaces/" + upper, api.agent).status, 200);
}

TEST(Guards, ATokenInTheQueryIsNoToken) {
  TestApi api;
  Ask asked;
  asked.target = api.path("/activity?token=" + api.admin + "&access_token=" + api.admin);
  EXPECT_EQ(api.ask(asked).status, 401);
}

TEST(Guards, ABearerPassesWithAnyHostOrOrigin) {
  TestApi api;
  Ask asked;
  asked.target = api.path("");
  asked.bearer(api.agent).with("Host", "anything.example").with("Origin", "https://evil.example");
  EXPECT_EQ(api.ask(asked).status, 200);
}

TEST(Guards, WhichHostsThePageIsServedUnder) {
  TestApi api;
  for (const char* host : {"localhost", "LOCALHOST:1", "127.0.0.1:8080", "[::1]:8080", "post.example", "post.example:8",
                           "server.example"}) {
    EXPECT_TRUE(host_allowed(api.context, host)) << host;
  }
  for (const char* host : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "[::2]",
                           "[", "post.example.", "xpost.example"}) {
    EXPECT_FALSE(host_allowed(api.context, host)) << host;
  }
}

TEST(Guards, ASessionWritesOnlyForOurOwnPages) {
  TestApi api;
  const std::string secret = api.desk.principals.open_session(api.admin)->secret;
  struct Case {
    const char* method;
    std::vector<http::Header> headers;
    bool admitted;
  };
  const Case kCases[] = {
      {"POST", {{"Sec-Fetch-Site", "same-origin"}}, true},
      {"POST", {{"Sec-Fetch-Site", "same-site"}}, false},
      {"POST", {{"Sec-Fetch-Site", "cross-site"}}, false},
      {"POST", {{"Sec-Fetch-Site", "cross-site"}, {"Origin", "http://localhost:8080"}}, false},
      {"POST", {{"Origin", "http://localhost:8080"}}, true},
      {"POST", {{"Origin", "http://localhost:9999"}}, false},
      {"POST", {{"Origin", "https://post.example"}}, true},
      {"POST", {{"Origin", "null"}}, false},
      {"POST", {}, false},
      {"GET", {}, true},
      {"GET", {{"Sec-Fetch-Site", "none"}}, true},
      {"GET", {{"Sec-Fetch-Site", "cross-site"}}, false},
      {"GET", {{"Origin", "https://evil.example"}}, false},
  };
  for (const Case& c : kCases) {
    Ask asked;
    asked.method = c.method;
    asked.target = "/workspaces";
    asked.headers = c.headers;
    asked.with("Cookie", std::string(http::kSessionCookie) + "=" + secret);
    asked.guard_only = true;
    EXPECT_EQ(api.ask(asked).admitted, c.admitted)
        << c.method << " " << (c.headers.empty() ? "" : c.headers.front().first + ": " + c.headers.front().second);
  }
}

TEST(Guards, MetricsAreOpenOnLoopbackAndNeedTheirTokenElse) {
  TestApi api;
  Ask asked;
  asked.target = "/metrics";
  const std::string secret = make_token().secret;
  EXPECT_EQ(api.get("/metrics", secret).status, 401);
  api.context.metrics_token = sha256(secret);
  EXPECT_EQ(api.get("/metrics", secret).status, 200);
  EXPECT_EQ(api.get("/metrics", make_token().secret).status, 401);
  EXPECT_EQ(api.ask(asked).status, 401);
  api.context.open_metrics = true;
  EXPECT_EQ(api.ask(asked).status, 200);
}

TEST(Guards, MetricsThatAreOpenOnLoopbackNeedATokenThroughAProxy) {
  TestApi api;
  api.context.open_metrics = true;
  const auto asked_with = [&](const char* name, const char* value) {
    Ask asked;
    asked.target = "/metrics";
    return asked.with(name, value);
  };
  for (const char* name : {"X-Forwarded-For", "x-forwarded-proto", "X-Forwarded-Host", "Forwarded", "X-Real-IP", "Via"})
    EXPECT_EQ(api.ask(asked_with(name, "192.0.2.1")).status, 401) << name;
  EXPECT_EQ(api.ask(asked_with("Host", "rebound.example")).status, 401) << "a page of another name";
  EXPECT_EQ(api.ask(asked_with("X-Forwarded-For", "192.0.2.1").bearer(api.admin)).status, 200);
}

TEST(Guards, AnAddressWithTooManyInvalidTokensMustWaitAndNoOther) {
  TestApi api;
  while (!api.invalid_token_limiter.count_invalid(http::limit_key("2001:db8::7"))) {
  }
  api.desk.clock.advance(std::chrono::seconds(18));
  const auto asked = [&](std::string_view secret, const char* peer, std::string target = "/session") {
    Ask ask;
    ask.target = std::move(target);
    ask.peer = peer;
    return api.ask(ask.bearer(secret));
  };
  const Answer refused = asked(make_token().secret, "2001:db8::9");
  EXPECT_EQ(refused.status, 429) << "the same /64";
  EXPECT_EQ(refused.body, R"({"error":"too many invalid tokens from this address; wait before the next one",)"
                          R"("code":"too_many_invalid_tokens","retry_after":42})");
  EXPECT_EQ(refused.header("Retry-After"), "42");
  EXPECT_EQ(asked("x", "2001:db8::7", "/workspaces").status, 429) << "the operator's routes too";
  EXPECT_EQ(asked(make_token().secret, "2001:db8:0:1::7").status, 401) << "another network";
  EXPECT_EQ(asked(make_token().secret, "192.0.2.7").status, 401);
  for (const std::string& secret : {api.agent, api.sender, api.admin}) {
    EXPECT_EQ(asked(secret, "2001:db8::7").status, 200) << "a valid token is never refused by it";
  }
  EXPECT_EQ(asked(api.agent, "2001:db8::7", "/workspaces").status, 401) << "nor counted where it may not go";
  Ask none;
  none.target = "/session";
  none.peer = "2001:db8::7";
  EXPECT_EQ(api.ask(none).status, 401) << "no token is no guess";
  api.desk.clock.advance(std::chrono::seconds(42));
  EXPECT_EQ(asked(make_token().secret, "2001:db8::7").status, 401);
}

// Guards that admit any token leave a further check to the handler.
TEST(Guards, WhenTheGuardAdmitsAnyTokenTheHandlerRefuses) {
  TestApi api;
  const std::string foreign = api.desk.give_token(TokenKind::workspace, api.other);
  const std::string enrolment = api.desk.give_token(TokenKind::enrolment, api.workspace);
  const std::string foreign_sender = api.desk.give_token(TokenKind::sender, api.other);
  const std::string id = R"({"workspace_id":")" + api.workspace.text() + R"("})";
  for (const std::string& secret : {foreign, enrolment, api.sender, foreign_sender}) {
    EXPECT_EQ(api.post("/registry/heartbeat", secret, id).status, 401);
  }
  const std::string registration = R"({"id":")" + api.workspace.text() + R"("})";
  for (const std::string& secret : {foreign, api.sender, foreign_sender}) {
    EXPECT_EQ(api.post("/registry/register", secret, registration).status, 401);
  }
  const std::string message = R"({"method":"message/send","params":{"message":{"content":"hi"}}})";
  EXPECT_EQ(api.post(api.path("/a2a"), enrolment, message).status, 401) << "good for registering alone";
  EXPECT_EQ(api.post(api.path("/a2a"), foreign_sender, message).status, 403);
  EXPECT_EQ(api.desk.inbox_of(api.workspace).size(), 0u);
  for (const std::string& secret : {api.sender, api.agent, api.admin}) {
    EXPECT_EQ(api.post(api.path("/a2a"), secret, message).status, 200);
  }
}

}  // namespace
}  // namespace restante::api
