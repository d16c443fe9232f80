// The parameters of GET /workspaces/:id/activity, one rule after the other.
#include <gtest/gtest.h>

#include "api/test_api.h"
#include "base/json.h"
#include "base/test_rows.h"

namespace restante::api {
namespace {

class InboxApi : public ::testing::Test {
 protected:
  // Appends a row and returns its id.
  std::string append(std::string_view summary, std::optional<WorkspaceId> source = {},
                     std::string_view method = "message/send", std::string body = R"({"n":1})") {
    NewInboxRow row;
    row.activity_type = "a2a_receive";
    row.method = method;
    row.summary = summary;
    row.source_id = source;
    row.request_body = std::move(body);
    const auto appended = api.desk.store->append_to_inbox(api.workspace, row, api.desk.clock.now()).take();
    EXPECT_TRUE(appended.has_value());
    api.desk.clock.advance(std::chrono::seconds(1));
    return appended->id.text();
  }
  Answer read(std::string_view query) { return api.get(api.path("/activity" + std::string(query)), api.agent); }
  // The summaries in the order of the answer.
  std::string order(std::string_view query) {
    const Answer answer = read(query);
    EXPECT_EQ(answer.status, 200) << query << " " << answer.body;
    const auto rows = parse_json(answer.body);
    std::string all;
    if (!rows.has_value() || !rows->if_array()) return "not an array";
    for (const Json& row : *rows->if_array()) all += *row.find("summary")->if_string();
    return all;
  }
  void expect_refused(std::string_view query, int status, std::string_view mentions) {
    const Answer answer = read(query);
    EXPECT_EQ(answer.status, status) << query;
    EXPECT_NE(answer.body.find(mentions), std::string::npos) << query << " " << answer.body;
    EXPECT_EQ(answer.body.find("junk"), std::string::npos) << "echoes input: " << answer.body;
  }
  // The cookie of a new session.
  std::string sign_in(const std::string& secret) {
    Ask asked;
    asked.method = "POST";
    asked.target = "/session";
    asked.with("Origin", "http://localhost:8080").json(R"({"token":")" + secret + R"("})");
    const std::string cookie = api.ask(asked).header("Set-Cookie");
    return cookie.substr(0, cookie.find(';'));
  }
  // The poll that such a request holds, before its first attempt. `secret` is a header.
  std::shared_ptr<http::HeldPoll> hold(std::string_view query, const std::string& secret) {
    const std::string head = "GET " + api.path("/activity" + std::string(query)) + " HTTP/1.1\r\nHost: localhost\r\n" +
                             secret + "\r\nSec-Fetch-Site: same-origin\r\n\r\n";
    http::Request request;
    EXPECT_FALSE(http::parse_head(head, http::Limits(), request));
    const auto match = api.router.match(request);
    EXPECT_FALSE(match.route->admit(request)) << secret;
    http::Response response = match.route->handle(request);
    const auto* held = std::get_if<std::shared_ptr<http::HeldPoll>>(&response.content);
    EXPECT_TRUE(held) << query;
    return held ? *held : nullptr;
  }

  TestApi api;
};

TEST_F(InboxApi, AnEmptyInboxIsAnEmptyArray) {
  const Answer answer = read("");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "[]");
}

TEST_F(InboxApi, ARowHasAllItsKeysAndBodiesOnlyWhenSet) {
  const std::string id = append("a", api.other);
  append("b", {}, "notify", "");
  const std::string rows = read("?since_seq=0").body;
  EXPECT_EQ(rows, R"([{"activity_type":"a2a_receive","created_at":")" + format_time(desk::kStart) +
                      R"(","duration_ms":null,"error_detail":null,"id":")" + id +
                      R"(","method":"message/send","request_body":{"n":1},"seq":1,"source_id":")" + api.other.text() +
                      R"(","status":"ok","summary":"a","target_id":null,"workspace_id":")" + api.workspace.text() +
                      R"("},)" + rows.substr(rows.find(R"({"activity_type")", 3)));
  EXPECT_EQ(rows.find("request_body", rows.find(R"("summary":"a")")), std::string::npos);
  EXPECT_EQ(rows.find("response_body"), std::string::npos);
}

TEST_F(InboxApi, DescendsWithoutACursorAndAscendsFromOne) {
  const std::string first = append("a");
  append("b");
  append("c");
  EXPECT_EQ(order(""), "cba");
  EXPECT_EQ(order("?since_id=" + first), "bc");
  EXPECT_EQ(order("?since_seq=0"), "abc");
  EXPECT_EQ(order("?since_seq=2"), "c");
  EXPECT_EQ(order("?since_seq=3"), "");
  EXPECT_EQ(order("?unknown=junk&since_seq=2"), "c");
}

TEST_F(InboxApi, TheLimitIsAHundredUnlessANumberUpToFiveHundredIsGiven) {
  for (int i = 0; i < 520; ++i) {
    NewInboxRow row;
    row.activity_type = "agent_log";
    row.summary = "x";
    (void)api.desk.store->append_to_inbox(api.workspace, row, desk::kStart);
  }
  append("last");
  const auto count = [&](std::string_view query) {
    const auto rows = parse_json(read(query).body);
    return rows.has_value() ? rows->if_array()->size() : 0;
  };
  for (const char* query : {"", "?limit=", "?limit=0", "?limit=-5", "?limit=junk", "?limit=1.5"}) {
    EXPECT_EQ(count(query), 100u) << query;
  }
  expect_rows<std::size_t>(count, {{"?limit=1", 1},
                                   {"?limit=499", 499},
                                   {"?limit=501", 500},
                                   {"?limit=4294967297", 500},
                                   {"?limit=99999999999999999999", 500},
                                   {"?limit=-99999999999999999999", 100}});
}

TEST_F(InboxApi, ACursorThatNamesNoRowOfThisWorkspaceIsGoneAndTheErrorNamesTheRemedy) {
  append("a");
  NewInboxRow row;
  row.activity_type = "agent_log";
  const auto foreign = api.desk.store->append_to_inbox(api.other, row, desk::kStart).take();
  expect_refused("?since_id=00000000-0000-0000-0000-000000000000", 410, "since_id");
  expect_refused("?since_id=" + InboxRowId::make(desk::kStart).text(), 410, "since_id");
  expect_refused("?since_id=" + foreign->id.text(), 410, "since_id");
  expect_refused("?since_seq=2", 410, "since_seq");
  expect_refused("?since_seq=9223372036854775807", 410, "since_seq");
  expect_refused("?since_id=00000000-0000-0000-0000-000000000000&wait=20", 410, "since_id");
}

TEST_F(InboxApi, AnInvalidCursorIsABadRequestThatNamesTheParameter) {
  const std::string id = append("a");
  for (const char* text : {"junk", "", "1", "00000000000000000000000000000000"}) {
    expect_refused("?since_id=" + std::string(text), 400, R"("field":"since_id")");
  }
  for (const char* text : {"junk", "", "-1", "1.0", "99999999999999999999x"}) {
    expect_refused("?since_seq=" + std::string(text), 400, R"("field":"since_seq")");
  }
  expect_refused("?since_seq=0&since_id=" + id, 400, "since_seq");
}

TEST_F(InboxApi, ABrokenEscapeIsRefusedInAnyParameter) {
  append("a");
  for (const char* name :
       {"limit", "wait", "since_id", "since_seq", "since_secs", "before_ts", "type", "source", "peer_id"}) {
    for (const char* value : {"%", "%4", "%zz", "1%", "%00", "%ff"}) {
      expect_refused("?" + std::string(name) + "=" + value, 400, R"("code":"bad_parameter")");
    }
  }
  EXPECT_EQ(order("?since%5Fseq=junk"), "a") << "an unknown name";
}

TEST_F(InboxApi, ACursorBeyondAnyNumberIsGone) {
  append("a");
  expect_refused("?since_seq=99999999999999999999", 410, "since_seq");
  expect_refused("?since_seq=-99999999999999999999", 400, R"("field":"since_seq")");
}

TEST_F(InboxApi, SinceSecsIsAFilterAndStaysDescending) {
  append("a");
  api.desk.clock.advance(std::chrono::seconds(100));
  append("b");
  append("c");
  EXPECT_EQ(order("?since_secs=50"), "cb");
  EXPECT_EQ(order("?since_secs=2592000"), "cba");
  EXPECT_EQ(order("?since_secs=999999999"), "cba") << "clamped";
  EXPECT_EQ(order("?since_secs=99999999999999999999"), "cba") << "clamped";
  for (const char* text : {"0", "-1", "-99999999999999999999", "junk", "", "1.5", "99999999999999999999x"}) {
    expect_refused("?since_secs=" + std::string(text), 400, R"("field":"since_secs")");
  }
}

TEST_F(InboxApi, BeforeTsIsAStrictTime) {
  append("a");
  append("b");
  EXPECT_EQ(order("?before_ts=" + format_time(desk::kStart + std::chrono::seconds(1))), "a");
  EXPECT_EQ(order("?before_ts=2099-01-01T00%3A00%3A00%2B02%3A00"), "ba");
  for (const char* text :
       {"junk", "", "2027", "2027-01-15", "1800000000", "2027-01-15T08:00:00", "2027-13-01T00:00:00Z"}) {
    expect_refused("?before_ts=" + std::string(text), 400, R"("field":"before_ts")");
    expect_refused("?before_ts=" + std::string(text), 400, "RFC3339");
  }
}

TEST_F(InboxApi, SourceSelectsPeopleOrAgents) {
  append("p");
  append("a", api.other);
  EXPECT_EQ(order("?source=canvas"), "p");
  EXPECT_EQ(order("?source=agent"), "a");
  EXPECT_EQ(order("?source="), "ap");
  expect_refused("?source=junk", 400, R"("field":"source")");
  expect_refused("?source=Canvas", 400, "source");
  EXPECT_EQ(order("?peer_id=" + api.other.text()), "a");
  expect_refused("?peer_id=junk", 400, R"("field":"peer_id")");
}

TEST_F(InboxApi, TypeIsExactAndUploadsAreSelectedByTheirMethod) {
  append("m");
  append("u", {}, "chat_upload_receive");
  EXPECT_EQ(order("?type=a2a_receive"), "um");
  EXPECT_EQ(order("?type=chat_upload_receive"), "u");
  EXPECT_EQ(order("?type=junk"), "");
}

TEST_F(InboxApi, WaitIsClampedAndTheHeaderNamesTheClampedValue) {
  const std::string id = append("a");
  struct Case {
    const char* wait;
    bool held;
    const char* header;
  };
  const Case kCases[] = {{"50", true, ""},
                         {"51", true, "50"},
                         {"1000000", true, "50"},
                         {"1", true, ""},
                         {"99999999999999999999", true, "50"},
                         {"-99999999999999999999", false, "0"},
                         {"0", false, ""},
                         {"-3", false, "0"},
                         {"-0.5", false, "0"},
                         {"0.0", false, ""},
                         {"0.5", true, ""},
                         {"30.0", true, ""},
                         {"50.0", true, ""},
                         {"50.001", true, "50"}};
  for (const Case& c : kCases) {
    const Answer answer = read("?since_id=" + id + "&wait=" + c.wait);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "[]");
    EXPECT_EQ(answer.held, c.held) << c.wait;
    EXPECT_EQ(answer.header("Restante-Wait"), c.header) << c.wait;
  }
  const Answer found = read("?since_seq=0&wait=99");
  EXPECT_FALSE(found.held) << "there is something: no reason to wait";
  EXPECT_EQ(found.header("Restante-Wait"), "50");
  EXPECT_FALSE(read("?type=junk&wait=20").held) << "without a cursor nothing is waited for";
}

TEST_F(InboxApi, AFractionOfASecondIsWaitedFor) {
  append("a");
  for (const auto& [wait, expected] : {std::pair("0.5", 500), std::pair("30.25", 30'250), std::pair("0.0001", 1)}) {
    const auto held = hold("?since_seq=1&wait=" + std::string(wait), "Authorization: Bearer " + api.agent);
    ASSERT_TRUE(held);
    EXPECT_EQ(held->patience, std::chrono::milliseconds(expected));
  }
}

TEST_F(InboxApi, PollsOfASessionCountAgainstItsTokenAndThoseOfOneWorkspaceTakeTurnsWithOthers) {
  const std::string sender = api.desk.store->find_token(sha256(api.sender))->id.text();
  for (const auto& [secret, owner] : {std::pair(api.sender, sender), std::pair(api.admin, std::string("admin"))}) {
    for (int i = 0; i < 3; ++i) {
      const std::string header = i == 0 ? "Authorization: Bearer " + secret : "Cookie: " + sign_in(secret);
      const auto held = hold("?since_seq=0&wait=1", header);
      ASSERT_TRUE(held);
      EXPECT_EQ(held->owner, owner) << header;
      EXPECT_EQ(held->tenant, api.workspace.text());
    }
  }
}

TEST_F(InboxApi, AWaitThatIsNoNumberIsRefusedWithAndWithoutACursor) {
  append("a");
  for (const char* text : {"", "junk", "1e9", "50s", "0x5", "1,5", "nan", "inf", "+1", "true", "1.5.2"}) {
    expect_refused("?since_seq=0&wait=" + std::string(text), 400, R"("field":"wait")");
    expect_refused("?wait=" + std::string(text), 400, R"("field":"wait")");
  }
}

TEST_F(InboxApi, APollByTheAgentIsASignOfLifeAndOneByAPersonIsNot) {
  (void)api.get(api.path("/activity"), api.sender);
  (void)api.get(api.path("/activity"), api.admin);
  api.desk.presence.flush();
  EXPECT_FALSE(api.desk.store->find_workspace(api.workspace)->last_poll_at);
  (void)api.get(api.path("/activity"), api.agent);
  api.desk.presence.flush();
  EXPECT_EQ(api.desk.store->find_workspace(api.workspace)->last_poll_at, api.desk.clock.now());
}

TEST_F(InboxApi, AWorkspaceThatDoesNotExistIsNotFound) {
  EXPECT_EQ(api.get("/workspaces/" + WorkspaceId::make(desk::kStart).text() + "/activity", api.admin).status, 404);
}

TEST_F(InboxApi, ARemovedWorkspaceEndsThePollsOfTheOperatorAndTakesNoAck) {
  append("a");
  const std::string head = "GET " + api.path("/activity?since_seq=1&wait=50") +
                           " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + api.admin + "\r\n\r\n";
  http::Request request;
  ASSERT_FALSE(http::parse_head(head, http::Limits(), request));
  const auto match = api.router.match(request);
  ASSERT_FALSE(match.route->admit(request));
  const http::Response response = match.route->handle(request);
  const auto* held = std::get_if<std::shared_ptr<http::HeldPoll>>(&response.content);
  ASSERT_TRUE(held);
  EXPECT_FALSE((*held)->attempt());
  ASSERT_TRUE(api.desk.workspaces.remove(api.workspace));
  const auto ended = (*held)->attempt();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->status, 410);
  EXPECT_EQ(api.post(api.path("/activity/ack"), api.admin, R"({"acked_seq":1})").status, 410);
}

TEST_F(InboxApi, AnAgentAppendsItsOwnKindsOfRowsAndNoOthers) {
  const Answer logged = api.post(api.path("/activity"), api.agent,
                                 R"({"activity_type":"task_update","summary":"half done","request_body":{"n":0.50}})");
  EXPECT_EQ(logged.body, R"({"status":"logged"})");
  EXPECT_NE(read("").body.find(R"("request_body":{"n":0.50})"), std::string::npos);
  const Answer forged = api.post(api.path("/activity"), api.agent, R"({"activity_type":"upload_receipt"})");
  EXPECT_EQ(forged.status, 400);
  EXPECT_NE(forged.body.find("invalid activity_type"), std::string::npos);
  for (const char* wrong : {R"({"activity_type":"error","summary":[]})", R"({"activity_type":"error","target_id":"x"})",
                            R"({"activity_type":"error","duration_ms":"1"})"}) {
    EXPECT_EQ(api.post(api.path("/activity"), api.agent, wrong).status, 400) << wrong;
  }
  for (const char* untyped : {"{}", R"({"activity_type":7})", R"({"activity_type":""})", R"({"activity_type":null})"}) {
    const Answer refused = api.post(api.path("/activity"), api.agent, untyped);
    EXPECT_EQ(refused.status, 400) << untyped;
    EXPECT_NE(refused.body.find("invalid activity_type"), std::string::npos) << refused.body;
  }
}

TEST_F(InboxApi, AnAgentAppendsNoTaskNoResultAndNoFile) {
  for (const char* method : {"delegate_result", "chat_upload_receive", "chat_upload_acked"}) {
    for (const char* type : {"a2a_receive", "agent_log"}) {
      const Answer refused = api.post(api.path("/activity"), api.agent,
                                      R"({"activity_type":")" + std::string(type) + R"(","method":")" + method + "\"}");
      EXPECT_EQ(refused.status, 400) << method;
      EXPECT_NE(refused.body.find(R"("field":"method")"), std::string::npos) << refused.body;
    }
  }
  EXPECT_EQ(read("").body, "[]");
  const std::string call = R"({"params":{"message":{"metadata":{"delegation_id":"d1"},"parts":[]}}})";
  const auto append_as = [&](std::string_view type) {
    return api.post(
        api.path("/activity"), api.agent,
        R"({"activity_type":")" + std::string(type) + R"(","method":"message/send","request_body":)" + call + "}");
  };
  EXPECT_EQ(append_as("a2a_receive").body, R"({"status":"logged","ignored":["metadata.delegation_id"]})");
  EXPECT_NE(read("").body.find(R"("request_body":{"params":{"message":{"metadata":{},"parts":[]}}})"),
            std::string::npos);
  EXPECT_EQ(append_as("task_update").body, R"({"status":"logged"})") << "agents log which task they work on";
  EXPECT_NE(read("?type=task_update").body.find(call), std::string::npos);
}

TEST_F(InboxApi, AnAckMovesForwardOnlyAndNotBeyondTheHead) {
  append("a");
  append("b");
  const auto ack = [&](std::string_view seq) {
    return api.post(api.path("/activity/ack"), api.agent, "{\"acked_seq\":" + std::string(seq) + "}");
  };
  EXPECT_EQ(ack("1").body, R"({"last_acked_seq":1})");
  EXPECT_EQ(ack("0").body, R"({"last_acked_seq":1})");
  EXPECT_EQ(ack("99").body, R"({"last_acked_seq":2})");
  for (const char* wrong : {"-1", "\"1\"", "1.5", "null"}) EXPECT_EQ(ack(wrong).status, 400) << wrong;
}

TEST_F(InboxApi, APersonCanReadHowFarTheAgentHasAcked) {
  append("a");
  append("b");
  const auto acked = [&] { return api.get(api.path("/activity/ack"), api.sender).body; };
  EXPECT_EQ(acked(), R"({"last_acked_seq":0})");
  EXPECT_EQ(api.post(api.path("/activity/ack"), api.agent, R"({"acked_seq":1})").status, 200);
  EXPECT_EQ(acked(), R"({"last_acked_seq":1})");
}

}  // namespace
}  // namespace restante::api
