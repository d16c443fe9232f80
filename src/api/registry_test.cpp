// Workspaces, tokens and the registry over the route table.
#include "api/handlers.h"

#include "api/test_api.h"
#include "base/json.h"

namespace restante::api {
namespace {

std::string text_of(const Answer& answer, std::string_view name) {
  const auto json = parse_json(answer.body);
  const Json* member = json ? json->find(name) : nullptr;
  return member && member->if_string() ? *member->if_string() : std::string();
}

struct RegistryTest : ::testing::Test {
  Answer send(std::string method, std::string target, std::string_view secret, std::string json = "") {
    Ask asked;
    asked.method = std::move(method);
    asked.target = std::move(target);
    if (!secret.empty()) asked.bearer(secret);
    if (!json.empty()) asked.json(std::move(json));
    return api.ask(asked);
  }
  TestApi api;
};

TEST_F(RegistryTest, AnAgentChangesItsNameAndOnlyTheAdminItsParent) {
  EXPECT_EQ(send("PATCH", api.path(""), api.agent, R"({"name":"new"})").body, R"({"status":"updated"})");
  EXPECT_EQ(text_of(api.get(api.path(""), api.agent), "name"), "new");
  const std::string place = R"({"parent_id":")" + api.other.text() + R"("})";
  EXPECT_EQ(send("PATCH", api.path(""), api.agent, place).status, 403);
  EXPECT_EQ(send("PATCH", api.path(""), api.admin, place).status, 200);
  EXPECT_EQ(text_of(api.get(api.path(""), api.agent), "parent_id"), api.other.text());
  EXPECT_EQ(text_of(send("PATCH", "/workspaces/" + api.other.text(), api.admin,
                         R"({"parent_id":")" + api.workspace.text() + R"("})"),
                    "code"),
            "bad_parent");
  EXPECT_EQ(send("PATCH", api.path(""), api.agent, R"({"name":""})").status, 400);
  EXPECT_EQ(send("PATCH", api.path(""), api.agent, R"({"name":7})").status, 400);
}

TEST_F(RegistryTest, ARemovedWorkspaceAndItsTokensAreGone) {
  EXPECT_EQ(send("DELETE", api.path(""), api.admin).body, R"({"status":"removed"})");
  EXPECT_EQ(api.get(api.path(""), api.agent).status, 401);
  EXPECT_EQ(api.get(api.path(""), api.admin).status, 410);
  EXPECT_EQ(send("DELETE", api.path(""), api.admin).status, 410);
}

TEST_F(RegistryTest, TokensAreListedWithoutTheirSecretAndRevokedByTheirId) {
  const Answer made = send("POST", api.path("/tokens"), api.agent, R"({"label":"second laptop"})");
  ASSERT_EQ(made.status, 201);
  const std::string secret = text_of(made, "auth_token");
  EXPECT_EQ(api.get(api.path(""), secret).status, 200);
  const Answer listed = api.get(api.path("/tokens"), api.agent);
  EXPECT_NE(listed.body.find("second laptop"), std::string::npos);
  EXPECT_EQ(listed.body.find(secret), std::string::npos);
  EXPECT_EQ(listed.body.find("sender"), std::string::npos) << "people's links are the admin's business";
  const std::string path = api.path("/tokens/") + text_of(made, "token_id");
  EXPECT_EQ(send("DELETE", path, api.agent).body, R"({"status":"revoked"})");
  EXPECT_EQ(api.get(api.path(""), secret).status, 401);
  EXPECT_EQ(send("DELETE", path, api.agent).status, 404);
}

TEST_F(RegistryTest, InvitesContainTheTextToPaste) {
  const Answer sender =
      api.post("/admin/invites", api.admin, R"({"kind":"sender","workspace_id":")" + api.workspace.text() + R"("})");
  ASSERT_EQ(sender.status, 201) << sender.body;
  EXPECT_EQ(text_of(sender, "link"),
            "https://post.example/#token=" + text_of(sender, "token") + "&workspace=" + api.workspace.text());
  EXPECT_EQ(api.get(api.path("/activity"), text_of(sender, "token")).status, 200);
  const Answer enrolment = api.post("/admin/invites", api.admin, R"({"kind":"enrolment"})");
  ASSERT_EQ(enrolment.status, 201) << enrolment.body;
  const Answer registered =
      api.post("/registry/register", text_of(enrolment, "token"), R"({"agent_card":{"name":"ada"}})");
  ASSERT_EQ(registered.status, 200) << registered.body;
  EXPECT_EQ(text_of(registered, "name"), "ada");
  EXPECT_EQ(api.get("/workspaces/" + text_of(registered, "workspace_id"), text_of(registered, "auth_token")).status,
            200);
  EXPECT_EQ(api.post("/registry/register", text_of(enrolment, "token"), "{}").status, 401) << "once only";
  for (const char* wrong : {R"({"kind":"admin"})", R"({"kind":"sender"})", R"({"kind":7})", "{}"}) {
    EXPECT_EQ(api.post("/admin/invites", api.admin, wrong).status, 400) << wrong;
  }
}

TEST_F(RegistryTest, RegistrationIsClosedUnlessTheOperatorOpensIt) {
  const std::string fresh = WorkspaceId::make(desk::kStart).text();
  const std::string body = R"({"id":")" + fresh + R"("})";
  EXPECT_EQ(send("POST", "/registry/register", "", body).status, 401);
  EXPECT_EQ(api.post("/registry/register", api.agent, body).status, 401) << "an unknown id, without permission";
  api.context.open_registration = true;
  const Answer registered = send("POST", "/registry/register", "", body);
  ASSERT_EQ(registered.status, 200) << registered.body;
  EXPECT_EQ(api.get("/workspaces/" + fresh, text_of(registered, "auth_token")).status, 200);
  EXPECT_EQ(send("POST", "/registry/register", "", body).status, 401) << "it has a live token now";
  EXPECT_EQ(send("POST", "/registry/heartbeat", "", R"({"workspace_id":")" + fresh + R"("})").status, 401)
      << "nothing else is ever anonymous";
  Ask foreign;
  foreign.method = "POST";
  foreign.target = "/registry/register";
  foreign.with("Host", "evil.example").json(R"({"id":")" + WorkspaceId::make(desk::kStart).text() + R"("})");
  EXPECT_EQ(api.ask(foreign).status, 421) << "a page that rebound its name to us";
}

TEST_F(RegistryTest, AgentsFindThoseTheyMayTalkTo) {
  const Answer peers = api.get("/registry/" + api.workspace.text() + "/peers", api.agent);
  EXPECT_NE(peers.body.find(api.other.text()), std::string::npos) << "unrelated roots talk by default";
  Ask asked;
  asked.target = "/registry/discover/" + api.other.text();
  asked.bearer(api.agent).with("X-Workspace-ID", api.workspace.text());
  EXPECT_EQ(text_of(api.ask(asked), "id"), api.other.text());
  Ask absent;
  absent.target = "/registry/discover/" + WorkspaceId::make(desk::kStart).text();
  absent.bearer(api.agent).with("X-Workspace-ID", api.workspace.text());
  EXPECT_EQ(api.ask(absent).status, 403);
  Ask forged;
  forged.target = asked.target;
  forged.bearer(api.agent).with("X-Workspace-ID", api.other.text());
  EXPECT_EQ(api.ask(forged).status, 401);
  for (const auto& [unnamed, sentence] :
       {std::pair("", "X-Workspace-ID header is required"), std::pair("x", "X-Workspace-ID must be a UUID")}) {
    Ask anonymous;
    anonymous.target = asked.target;
    anonymous.bearer(api.agent);
    if (*unnamed) anonymous.with("X-Workspace-ID", unnamed);
    const Answer refused = api.ask(anonymous);
    EXPECT_EQ(refused.status, 400) << unnamed;
    EXPECT_EQ(text_of(refused, "error"), sentence);
  }
  const auto check = [&](std::string_view secret, WorkspaceId from, WorkspaceId to) {
    return api.post("/registry/check-access", secret,
                    R"({"caller_id":")" + from.text() + R"(","target_id":")" + to.text() + R"("})");
  };
  EXPECT_EQ(check(api.agent, api.workspace, api.other).body, R"({"allowed":true})");
  EXPECT_EQ(check(api.agent, api.workspace, WorkspaceId::make(desk::kStart)).body, R"({"allowed":false})");
  EXPECT_EQ(check(api.agent, api.other, api.workspace).status, 401);
}

TEST_F(RegistryTest, PeersAreSearchedByNameAndRole) {
  ASSERT_EQ(send("PATCH", "/workspaces/" + api.other.text(), api.admin, R"({"name":"Ada","role":"reviewer"})").status,
            200);
  const auto found = [&](const std::string& query) {
    return api.get("/registry/" + api.workspace.text() + "/peers" + query, api.agent).body != "[]";
  };
  for (const char* query : {"", "?q=", "?q=ada", "?q=VIEW", "?other=1"}) EXPECT_TRUE(found(query)) << query;
  for (const char* query : {"?q=grace", "?q=ada%20reviewer"}) EXPECT_FALSE(found(query)) << query;
}

TEST_F(RegistryTest, ACardIsReplacedByItsAgentAndByNobodyElse) {
  const std::string body = R"({"workspace_id":")" + api.workspace.text() + R"(","agent_card":{"name":"new"}})";
  EXPECT_EQ(api.post("/registry/update-card", api.agent, body).body, R"({"status":"updated"})");
  EXPECT_NE(api.get(api.path(""), api.agent).body.find(R"("agent_card":{"name":"new"})"), std::string::npos);
  EXPECT_EQ(api.post("/registry/update-card", api.agent, R"({"agent_card":{}})").status, 200) << "its own";
  EXPECT_EQ(api.post("/registry/update-card", api.admin, body).status, 200);
  const std::string foreign = api.desk.give_token(TokenKind::workspace, api.other);
  for (const std::string& who : {foreign, api.sender}) {
    EXPECT_EQ(api.post("/registry/update-card", who, body).status, 401);
  }
  const std::string own = R"({"workspace_id":")" + api.workspace.text() + "\"";
  for (const std::string& wrong : {own + "}", own + R"(,"agent_card":7})", own + R"(,"agent_card":null})",
                                   std::string(R"({"workspace_id":"x","agent_card":{}})")}) {
    EXPECT_EQ(api.post("/registry/update-card", api.agent, wrong).status, 400) << wrong;
  }
  EXPECT_EQ(api.post("/registry/update-card", api.admin, R"({"agent_card":{}})").status, 400) << "whose?";
}

TEST_F(RegistryTest, AnAgentLearnsFromTheStateThatItsWorkspaceWasRemoved) {
  const std::string state = api.path("/state");
  EXPECT_EQ(api.get(state, api.agent).body, R"({"workspace_id":")" + api.workspace.text() +
                                                R"(","status":"awaiting_agent","paused":false,"deleted":false})");
  EXPECT_EQ(api.get(state, api.sender).status, 401);
  const std::string spare = api.desk.give_token(TokenKind::workspace, api.workspace);
  api.desk.revoke(spare);
  EXPECT_EQ(api.get(state, spare).status, 401) << "revoked, and the workspace is there";
  ASSERT_EQ(send("DELETE", api.path(""), api.admin).status, 200);
  for (const std::string& who : {api.agent, spare, api.admin}) {
    const Answer gone = api.get(state, who);
    EXPECT_EQ(gone.status, 404) << gone.body;
    EXPECT_EQ(text_of(gone, "code"), "workspace_not_found");
  }
  const std::string foreign = api.desk.give_token(TokenKind::workspace, api.other);
  for (const std::string& who : {foreign, api.sender, make_token().secret}) {
    EXPECT_EQ(api.get(state, who).status, 401);
  }
}

TEST_F(RegistryTest, TheStateOfARemovedWorkspaceIsKnownToItsAgentAsLongAsItsTokenIsKept) {
  ASSERT_EQ(send("DELETE", api.path(""), api.admin).status, 200);
  const auto state_after = [&](std::chrono::hours time) {
    api.desk.clock.advance(time);
    const Time now = api.desk.clock.now();
    EXPECT_TRUE(api.desk.store->prune(desk::kStart, desk::kStart, now, 100).take());
    return api.get(api.path("/state"), api.agent).status;
  };
  EXPECT_EQ(state_after(kDeadTokensStay - std::chrono::hours(1)), 404);
  EXPECT_EQ(state_after(std::chrono::hours(2)), 401) << "as for every token that the server does not know";
}

TEST_F(RegistryTest, ARemoteUrlMeansThatThereIsNoCallback) {
  const std::string remote = R"({"url":"remote://laptop")";
  const Answer made = api.post("/workspaces", api.admin, remote + R"(,"name":"a"})");
  EXPECT_EQ(text_of(made, "delivery_mode"), "poll") << made.body;
  EXPECT_NE(made.body.find(R"("url":null)"), std::string::npos) << made.body;
  EXPECT_EQ(text_of(api.post("/registry/register", api.agent, remote + "}"), "delivery_mode"), "poll");
  EXPECT_EQ(api.post("/registry/register", api.agent, remote + R"(,"delivery_mode":"push"})").status, 400);
  EXPECT_EQ(send("PATCH", api.path(""), api.admin, R"({"url":"https://agent.example/"})").status, 200);
  EXPECT_EQ(send("PATCH", api.path(""), api.admin, remote + "}").status, 200);
  EXPECT_NE(api.get(api.path(""), api.agent).body.find(R"("url":null)"), std::string::npos);
}

TEST_F(RegistryTest, ANameIsTidied) {
  const std::string long_name(150, 'x');
  const auto name_of_made = [&](const std::string& name) {
    return text_of(api.post("/workspaces", api.admin, R"({"name":")" + name + R"("})"), "name");
  };
  EXPECT_EQ(name_of_made(long_name), long_name.substr(0, 100));
  EXPECT_EQ(name_of_made(R"(a\u001b\nb)"), "ab");
  EXPECT_EQ(api.post("/workspaces", api.admin, R"({"name":"\n"})").status, 400);
  EXPECT_EQ(send("PATCH", api.path(""), api.agent, R"({"name":"\tnew"})").status, 200);
  EXPECT_EQ(text_of(api.get(api.path(""), api.agent), "name"), "new");
  EXPECT_EQ(send("PATCH", api.path(""), api.agent, R"({"name":"\t"})").status, 400);
  const auto invite = api.post("/admin/invites", api.admin, R"({"kind":"enrolment"})");
  const auto registered =
      api.post("/registry/register", text_of(invite, "token"), R"({"agent_card":{"name":"\n)" + long_name + R"("}})");
  EXPECT_EQ(text_of(registered, "name"), long_name.substr(0, 100));
}

TEST_F(RegistryTest, AnUnknownCallerAndARemovedTargetMayNotTalk) {
  const auto check = [&](WorkspaceId from, WorkspaceId to) {
    return api.post("/registry/check-access", api.admin,
                    R"({"caller_id":")" + from.text() + R"(","target_id":")" + to.text() + R"("})");
  };
  EXPECT_EQ(check(api.workspace, api.other).body, R"({"allowed":true})");
  EXPECT_EQ(check(WorkspaceId::make(desk::kStart), api.other).body, R"({"allowed":false})");
  ASSERT_EQ(send("DELETE", "/workspaces/" + api.other.text(), api.admin).status, 200);
  EXPECT_EQ(check(api.workspace, api.other).body, R"({"allowed":false})");
  Ask asked;
  asked.target = "/registry/discover/" + api.other.text();
  asked.bearer(api.agent).with("X-Workspace-ID", api.workspace.text());
  EXPECT_EQ(api.ask(asked).status, 410);
}

TEST_F(RegistryTest, ABeatNeedsNoBodyAndTakesAnyContentType) {
  EXPECT_EQ(send("POST", "/registry/heartbeat", api.agent).body, R"({"status":"ok"})");
  EXPECT_EQ(send("POST", "/registry/heartbeat", api.admin).status, 400) << "whose?";
  Ask form;
  form.method = "POST";
  form.target = "/registry/heartbeat";
  form.body = R"({"active_tasks":4})";
  form.bearer(api.agent).with("Content-Type", "application/x-www-form-urlencoded");
  EXPECT_EQ(api.ask(form).status, 200);
  EXPECT_EQ(api.desk.store->find_workspace(api.workspace)->active_tasks, 4);
  form.body = "a=b";
  EXPECT_EQ(api.ask(form).status, 200);
  for (const char* wrong : {"[]", "{", R"({"workspace_id":"x"})", R"({"workspace_id":7})", R"({"active_tasks":"1"})",
                            R"({"uptime_seconds":1.5})", R"({"error_rate":"1"})", R"({"current_task":[]})"}) {
    EXPECT_EQ(send("POST", "/registry/heartbeat", api.agent, wrong).status, 400) << wrong;
  }
}

TEST_F(RegistryTest, AnEmptyBeatLeavesTheCurrentTaskUnchanged) {
  const auto beat = [&](std::string body) {
    EXPECT_EQ(send("POST", "/registry/heartbeat", api.agent, body).status, 200);
  };
  beat(R"({"active_tasks":3,"current_task":"reading","uptime_seconds":70})");
  beat(R"({"uptime_seconds":100})");
  const auto known = api.desk.store->find_workspace(api.workspace);
  EXPECT_EQ(known->active_tasks, 3);
  EXPECT_EQ(known->current_task, "reading");
  EXPECT_EQ(known->uptime_seconds, 100);
  beat(R"({"active_tasks":0,"current_task":""})");
  EXPECT_EQ(api.desk.store->find_workspace(api.workspace)->active_tasks, 0);
  EXPECT_EQ(api.desk.store->find_workspace(api.workspace)->current_task, "");
  EXPECT_NE(api.get(api.path(""), api.agent).body.find(R"("current_task":"")"), std::string::npos);
}

TEST_F(RegistryTest, RegisteringWithoutACardKeepsTheOperatorsCardAndNamesOnlyANewWorkspace) {
  EXPECT_EQ(send("PATCH", api.path(""), api.admin, R"({"agent_card":{"name":"Card"}})").status, 200);
  const auto name = text_of(api.get(api.path(""), api.agent), "name");
  EXPECT_EQ(send("POST", "/registry/register", api.agent, R"({"delivery_mode":"poll","name":"laptop"})").status, 200);
  EXPECT_NE(api.get(api.path(""), api.agent).body.find(R"("agent_card":{"name":"Card"})"), std::string::npos);
  EXPECT_EQ(text_of(api.get(api.path(""), api.agent), "name"), name);
  const auto invite = send("POST", "/admin/invites", api.admin, R"({"kind":"enrolment"})");
  const auto made = send("POST", "/registry/register", text_of(invite, "token"), R"({"name":"laptop"})");
  EXPECT_EQ(text_of(made, "name"), "laptop");
  EXPECT_EQ(send("POST", "/registry/register", api.agent, R"({"name":7})").status, 400);
}

TEST_F(RegistryTest, RegisteringWithoutAModeKeepsTheStoredOneWhateverTheUrl) {
  const auto registered = [&](std::string body) {
    const Answer answer = send("POST", "/registry/register", api.agent, std::move(body));
    return answer.status == 200 ? text_of(answer, "delivery_mode") : std::to_string(answer.status);
  };
  EXPECT_EQ(registered(R"({"url":"https://agent.example/in"})"), "poll");
  EXPECT_EQ(registered(R"({"url":"http://10.0.0.1:9/"})"), "poll") << "this server does not call it";
  EXPECT_EQ(registered(R"({"delivery_mode":"push"})"), "400") << "push needs a url";
  EXPECT_EQ(registered(R"({"delivery_mode":"push","url":"https://agent.example/in"})"), "push");
  EXPECT_EQ(registered("{}"), "push");
  EXPECT_EQ(text_of(api.get(api.path(""), api.agent), "url"), "https://agent.example/in");
  api.push.resolve = [](const std::string&) { return std::vector<std::string>{"10.0.0.1"}; };
  EXPECT_EQ(registered(R"({"url":"https://inside.example/"})"), "400") << "it would be called";
  EXPECT_EQ(registered(R"({"delivery_mode":"poll"})"), "poll");
}

TEST_F(RegistryTest, AMessageToAnUnrelatedWorkspaceIsRefusedLikeOneToAMissingWorkspace) {
  NewWorkspace child;
  child.name = "child";
  child.parent_id = api.other;
  const auto unrelated = api.desk.store->create_workspace(child, desk::kStart).take()->id;
  const std::string message =
      R"({"method":"message/send","params":{"message":{"parts":[{"kind":"text","text":"hi"}]}}})";
  const Answer to_unrelated = api.post("/workspaces/" + unrelated.text() + "/a2a", api.agent, message);
  const Answer to_missing =
      api.post("/workspaces/" + WorkspaceId::make(desk::kStart).text() + "/a2a", api.agent, message);
  EXPECT_EQ(to_unrelated.status, 403);
  EXPECT_EQ(to_unrelated.body, to_missing.body);
  EXPECT_EQ(api.post("/workspaces/" + api.other.text() + "/a2a", api.agent, message).status, 200);
}

}  // namespace
}  // namespace restante::api
