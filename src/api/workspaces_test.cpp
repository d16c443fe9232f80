#include "api/handlers.h"

#include <gtest/gtest.h>

#include "api/test_api.h"
#include "base/json.h"

namespace restante::api {
namespace {

class WorkspacesApi : public testing::Test {
 protected:
  Answer patch(WorkspaceId id, std::string json) {
    Ask asked;
    asked.method = "PATCH";
    asked.target = "/workspaces/" + id.text();
    return api.ask(asked.bearer(api.admin).json(std::move(json)));
  }
  void expect_refused(WorkspaceId id, const std::string& json, std::string_view code) {
    const auto before = api.desk.store->find_workspace(id).value();
    const Answer answer = patch(id, json);
    EXPECT_EQ(answer.status, 400) << json << answer.body;
    EXPECT_NE(answer.body.find(R"("code":")" + std::string(code) + '"'), std::string::npos) << json << answer.body;
    EXPECT_NE(answer.body.find(R"("field":"url")"), std::string::npos) << json << answer.body;
    const auto after = api.desk.store->find_workspace(id).value();
    EXPECT_EQ(after.url, before.url) << json;
    EXPECT_EQ(after.delivery_mode, before.delivery_mode) << json;
  }
  void expect_taken(WorkspaceId id, const std::string& json, DeliveryMode mode, std::string_view url) {
    const Answer answer = patch(id, json);
    EXPECT_EQ(answer.status, 200) << json << answer.body;
    const auto stored = api.desk.store->find_workspace(id).value();
    EXPECT_EQ(stored.delivery_mode, mode) << json;
    EXPECT_EQ(stored.url, url) << json;
  }

  TestApi api;
};

TEST_F(WorkspacesApi, PushNeedsAUrlThatMayBeCalledWhetherModeOrUrlIsChanged) {
  const std::string fine = "https://agent.example/in";
  const std::string secret_port = "https://agent.example:6379/";
  expect_refused(api.workspace, R"({"delivery_mode":"push"})", "bad_field");
  expect_refused(api.workspace, R"({"delivery_mode":"push","url":""})", "bad_field");
  expect_refused(api.workspace, R"({"delivery_mode":"push","url":")" + secret_port + R"("})", "callback_refused");
  expect_taken(api.workspace, R"({"url":")" + secret_port + R"("})", DeliveryMode::poll, secret_port);
  expect_refused(api.workspace, R"({"delivery_mode":"push"})", "callback_refused");
  expect_taken(api.workspace, R"({"url":")" + fine + R"("})", DeliveryMode::poll, fine);
  expect_taken(api.workspace, R"({"delivery_mode":"push"})", DeliveryMode::push, fine);
  expect_refused(api.workspace, R"({"url":""})", "bad_field");
  expect_refused(api.workspace, R"({"url":")" + secret_port + R"("})", "callback_refused");
  expect_taken(api.workspace, R"({"delivery_mode":"poll","url":""})", DeliveryMode::poll, "");
}

TEST_F(WorkspacesApi, AWorkspaceWithAStoredPrivateUrlIsNotMadePush) {
  const std::string inside = "https://inside.example/";
  expect_taken(api.workspace, R"({"url":")" + inside + R"("})", DeliveryMode::poll, inside);
  api.push.resolve = [](const std::string&) { return std::vector<std::string>{"169.254.169.254"}; };
  expect_refused(api.workspace, R"({"delivery_mode":"push"})", "callback_refused");
}

TEST_F(WorkspacesApi, OtherChangesDoNotCheckTheUrl) {
  const WorkspaceId push = api.desk.make_workspace(DeliveryMode::push);
  api.push.resolve = [](const std::string&) { return std::vector<std::string>(); };
  EXPECT_EQ(patch(push, R"({"name":"another"})").status, 200);
  EXPECT_EQ(patch(push, R"({"delivery_mode":"poll"})").status, 200);
}

TEST_F(WorkspacesApi, ThatDoNotExistCannotBeMadePush) {
  EXPECT_EQ(patch(WorkspaceId::make(desk::kStart), R"({"delivery_mode":"push"})").status, 404);
  ASSERT_TRUE(api.desk.store->remove_workspace(api.other, api.desk.clock.now()).take());
  EXPECT_EQ(patch(api.other, R"({"delivery_mode":"push"})").status, 410);
}

TEST_F(WorkspacesApi, RemovingOneDropsTheStateOfItsCallback) {
  const WorkspaceId push = api.desk.make_workspace(DeliveryMode::push);
  for (int i = 0; i < 5; ++i) api.callbacks.acquire(push, "https://agent.example/")->failed();
  ASSERT_FALSE(api.callbacks.acquire(push, "https://agent.example/"));
  Ask asked;
  asked.method = "DELETE";
  asked.target = "/workspaces/" + push.text();
  EXPECT_EQ(api.ask(asked.bearer(api.admin)).status, 200);
  EXPECT_TRUE(api.callbacks.acquire(push, "https://agent.example/"));
}

TEST_F(WorkspacesApi, WithoutAModeAUrlMakesItPushAndNoneMakesItPoll) {
  const auto mode_of = [&](const char* json) {
    const Answer made = api.post("/workspaces", api.admin, json);
    EXPECT_EQ(made.status, 201) << json << made.body;
    const auto at = made.body.find(R"("delivery_mode":")");
    return made.body.substr(at + 17, 4);
  };
  EXPECT_EQ(mode_of(R"({"name":"a"})"), "poll");
  EXPECT_EQ(mode_of(R"({"name":"a","url":""})"), "poll");
  EXPECT_EQ(mode_of(R"({"name":"a","url":"https://agent.example/in"})"), "push");
  EXPECT_EQ(mode_of(R"({"name":"a","url":"https://agent.example/in","delivery_mode":"poll"})"), "poll");
}

TEST_F(WorkspacesApi, ASenderSeesTheAgentsNameAndNotItsCurrentTask) {
  const std::string before = R"({"agent_card":{"skill":"secret"},"url":"https://inside.example/","parent_id":")";
  EXPECT_EQ(patch(api.workspace, before + api.other.text() + "\"}").status, 200);
  const std::string beat = R"({"current_task":"secret task"})";
  EXPECT_EQ(api.post("/registry/heartbeat", api.agent, beat).status, 200);
  const Answer full = api.get(api.path(""), api.agent);
  const Answer seen = api.get(api.path(""), api.sender);
  ASSERT_EQ(seen.status, 200);
  for (const std::string& hidden : {std::string("secret"), std::string("inside.example"), api.other.text()}) {
    EXPECT_NE(full.body.find(hidden), std::string::npos) << hidden;
    EXPECT_EQ(seen.body.find(hidden), std::string::npos) << hidden;
  }
  EXPECT_NE(seen.body.find(R"("status":"online")"), std::string::npos);
}

TEST_F(WorkspacesApi, TheListContainsHowManyMessagesTheAgentHasNotRead) {
  const auto waiting = [&](const std::string& query) {
    const auto list = parse_json(api.get("/workspaces" + query, api.admin).body).value();
    for (const Json& one : *list.if_array()) {
      if (*one.find("id")->if_string() != api.workspace.text()) continue;
      const Json* count = one.find("waiting_messages");
      return count ? count->integer().value() : -1;
    }
    return std::int64_t{-2};
  };
  EXPECT_EQ(waiting(""), -1);
  EXPECT_EQ(waiting("?include=waiting"), 0);
  const std::string message =
      R"({"jsonrpc":"2.0","method":"message/send","params":{"message":{"parts":[{"kind":"text","text":"hello"}]}}})";
  for (int n = 0; n < 3; ++n) ASSERT_EQ(api.post(api.path("/a2a"), api.sender, message).status, 200);
  api.upload(api.sender);
  EXPECT_EQ(waiting("?include=waiting"), 3);
  ASSERT_EQ(api.post(api.path("/activity/ack"), api.agent, R"({"acked_seq":2})").status, 200);
  EXPECT_EQ(waiting("?include=waiting"), 1);
  ASSERT_EQ(api.get(api.path("/activity?since_seq=3"), api.agent).status, 200);
  EXPECT_EQ(waiting("?include=waiting"), 0) << "what it polls past counts at once";
  ASSERT_EQ(api.post(api.path("/a2a"), api.sender, message).status, 200);
  const auto newest = parse_json(api.get(api.path("/activity?limit=1"), api.agent).body).value();
  const std::string row = newest.if_array()->front().text("id");
  EXPECT_EQ(waiting("?include=waiting"), 1);
  ASSERT_EQ(api.get(api.path("/activity?since_id=" + row), api.agent).status, 200);
  EXPECT_EQ(waiting("?include=waiting"), 0) << "also by row";
  ASSERT_EQ(api.post(api.path("/a2a"), api.sender, message).status, 200);
  EXPECT_EQ(waiting("?include=waiting"), 1);
  EXPECT_EQ(patch(api.workspace, R"({"delivery_mode":"push","url":"https://agent.example/in"})").status, 200);
  EXPECT_EQ(waiting("?include=waiting"), 0);
}

TEST_F(WorkspacesApi, TheListHasPagesForClientsThatAskForThem) {
  for (int i = 0; i < 3; ++i) api.desk.make_workspace();
  const auto ids = [&](const Answer& answer) {
    std::vector<std::string> all;
    const auto list = parse_json(answer.body);
    for (const Json& one : *list->if_array()) all.push_back(*one.find("id")->if_string());
    return all;
  };
  const Answer whole = api.get("/workspaces", api.admin);
  EXPECT_EQ(whole.header("Restante-Next"), "");
  const std::vector<std::string> all = ids(whole);
  ASSERT_EQ(all.size(), 5u);
  std::vector<std::string> paged;
  std::string next = "/workspaces?limit=2";
  for (int pages = 0; !next.empty() && pages < 9; ++pages) {
    const Answer page = api.get(next, api.admin);
    ASSERT_EQ(page.status, 200) << page.body;
    for (const std::string& id : ids(page)) paged.push_back(id);
    const std::string after = page.header("Restante-Next");
    next = after.empty() ? "" : "/workspaces?limit=2&after=" + after;
  }
  EXPECT_EQ(paged, all);
  EXPECT_EQ(ids(api.get("/workspaces?after=" + all[3], api.admin)), std::vector<std::string>{all[4]});
  EXPECT_EQ(api.get("/workspaces?after=x", api.admin).status, 400);
}

TEST_F(WorkspacesApi, TheLineToPasteIsMadeWithTheWorkspaceOrNotAtAll) {
  const Answer made = api.post("/workspaces", api.admin, R"({"name":"a"})");
  ASSERT_EQ(made.status, 201) << made.body;
  const auto body = parse_json(made.body).value();
  const std::string token = *body.find("connection")->find("enrolment_token")->if_string();
  EXPECT_EQ(*body.find("connection")->find("connect_command")->if_string(),
            "restante connect --url https://post.example --enrol " + token);
  const auto who = api.desk.principals.by_token(token);
  ASSERT_TRUE(who.has_value());
  EXPECT_EQ(who->role, Principal::Role::enrolment);
  EXPECT_EQ(who->workspace_id->text(), *body.find("id")->if_string());
  const auto tokens = api.desk.store->list_tokens(std::nullopt).size();
  EXPECT_EQ(api.post("/workspaces", api.admin,
                     R"({"name":"b","parent_id":")" + WorkspaceId::make(desk::kStart).text() + R"("})")
                .status,
            400);
  EXPECT_EQ(api.desk.store->list_tokens(std::nullopt).size(), tokens);
}

}  // namespace
}  // namespace restante::api
