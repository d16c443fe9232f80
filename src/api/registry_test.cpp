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
  for (const char* unnamed : {"", "x"}) {
    Ask anonymous;
    anonymous.target = asked.target;
    anonymous.bearer(api.agent);
    if (*unnamed) anonymous.with("X-Workspace-ID", unnamed);
    EXPECT_EQ(api.ask(anonymous).status, 400) << unnamed;
  }
  const auto check = [&](std::string_view secret, WorkspaceId from, WorkspaceId to) {
    return api.post("/registry/check-access", secret,
                    R"({"caller_id":")" + from.text() + R"(","target_id":")" + to.text() + R"("})");
  };
  EXPECT_EQ(check(api.agent, api.workspace, api.other).body, R"({"allowed":true})");
  EXPECT_EQ(check(api.agent, api.workspace, WorkspaceId::make(desk::kStart)).body, R"({"allowed":false})");
  EXPECT_EQ(check(api.agent, api.other, api.workspace).status, 401);
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
