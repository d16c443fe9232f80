#include "api/handlers.h"

#include <gmock/gmock.h>

#include "api/delegation_push.h"
#include "api/test_api.h"
#include "model/errors.h"

namespace restante::api {
namespace {

using ::testing::HasSubstr;
using Outcome = http::Forwarded::Outcome;
using Status = DelegationStatus;

class DelegationsApi : public ::testing::Test {
 protected:
  std::string in(WorkspaceId id, std::string_view rest) { return "/workspaces/" + id.text() + std::string(rest); }
  Answer give(std::string more = "") {
    return api.post(api.path("/delegate"), api.agent,
                    R"({"target_id":")" + api.other.text() + R"(","task":"do it")" + more + "}");
  }
  std::string give_id() {
    const auto answer = parse_json(give().body);
    return *answer->find("delegation_id")->if_string();
  }
  Answer by_callee(const std::string& id, const std::string& verb, std::string body = "{}") {
    return api.post(in(api.other, "/delegations/" + id + "/" + verb), callee, std::move(body));
  }

  TestApi api;
  const std::string callee = api.desk.give_token(TokenKind::workspace, api.other);
};

TEST_F(DelegationsApi, ATaskIsAcceptedAndStaysWhatItWasWhenGivenAgain) {
  const auto first = give(R"(,"delegation_id":"d1")");
  EXPECT_EQ(first.status, 202);
  EXPECT_EQ(first.body, R"({"delegation_id":"d1","status":"delegated","target_id":")" + api.other.text() + "\"}");
  const auto again = give(R"(,"delegation_id":"d1")");
  EXPECT_EQ(again.status, 200);
  EXPECT_THAT(again.body, HasSubstr(R"("status":"queued")"));
  EXPECT_THAT(again.body, HasSubstr(R"("idempotent_hit":true)"));
}

TEST_F(DelegationsApi, AListContainsTheMembersOfTheContractAndWhy) {
  give(R"(,"delegation_id":"d1")");
  const auto list = api.get(api.path("/delegations?status=in_flight&direction=sent"), api.agent);
  EXPECT_EQ(list.status, 200);
  for (const char* name :
       {"delegation_id", "source_id", "target_id", "direction", "status", "summary", "response_preview", "error",
        "error_detail", "last_heartbeat", "deadline", "created_at", "updated_at", "why"}) {
    EXPECT_THAT(list.body, HasSubstr("\"" + std::string(name) + "\":"));
  }
  EXPECT_THAT(list.body, HasSubstr(R"("why":"the receiving agent has never connected")"));
  EXPECT_EQ(api.get(api.path("/delegations?direction=received"), api.agent).body, "[]");
  EXPECT_EQ(api.get(api.path("/delegations?direction=up"), api.agent).status, 400);
  EXPECT_THAT(api.get(api.path("/delegations?status=up"), api.agent).body, HasSubstr("\"allowed\":"));
}

TEST_F(DelegationsApi, TheOperatorFindsTasksByTheirPartiesAndOneByItsId) {
  give(R"(,"delegation_id":"d1")");
  const auto ids = [&](const std::string& query) {
    const auto answer = api.get("/admin/delegations?" + query, api.admin);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.body.find("\"d1\"") != std::string::npos;
  };
  const std::string caller = api.workspace.text(), target = api.other.text();
  EXPECT_TRUE(ids("caller=" + caller));
  EXPECT_TRUE(ids("callee=" + target + "&caller=" + caller));
  EXPECT_TRUE(ids("callee=" + target));
  EXPECT_FALSE(ids("caller=" + target));
  EXPECT_FALSE(ids("callee=" + caller));
  EXPECT_FALSE(ids("caller=" + caller + "&callee=" + caller));
  EXPECT_FALSE(ids("status=failed&caller=" + caller));
  EXPECT_THAT(api.get("/admin/delegations?callee=x", api.admin).body, HasSubstr(R"("field":"callee")"));
  const auto one = api.get("/admin/delegations/d1", api.admin);
  EXPECT_EQ(one.status, 200);
  EXPECT_THAT(one.body, HasSubstr(R"("task":"do it")"));
  EXPECT_THAT(one.body, HasSubstr(R"("why":"the receiving agent has never connected")"));
  EXPECT_THAT(one.body, HasSubstr(R"("history":[{)"));
  EXPECT_EQ(api.get("/admin/delegations/d2", api.admin).status, 404);
  EXPECT_EQ(api.get("/admin/delegations/a%20b", api.admin).status, 404);
  EXPECT_EQ(api.get("/admin/delegations/d1", api.agent).status, 401);
  EXPECT_EQ(api.post(api.path("/delegations/d1/cancel"), api.admin, "{}").status, 200) << "as its caller does";
  EXPECT_EQ(api.post(api.path("/delegate"), api.admin, R"({"retry_of":"d1"})").status, 202);
}

TEST_F(DelegationsApi, AReportChangesTheStatusAndALateOneGetsTheOutcome) {
  const auto id = give_id();
  EXPECT_EQ(by_callee(id, "heartbeat", "").body, R"({"status":"dispatched","cancel":false})");
  EXPECT_EQ(by_callee(id, "update", R"({"status":"completed","result":"ten"})").status, 200);
  EXPECT_EQ(by_callee(id, "update", R"({"status":"completed","result":"ten"})").status, 200) << "once more is fine";
  EXPECT_EQ(by_callee(id, "heartbeat").body, R"({"status":"completed","cancel":true})");
  const auto late = by_callee(id, "update", R"({"status":"failed","error":"no"})");
  EXPECT_EQ(late.status, 409);
  EXPECT_THAT(late.body, HasSubstr(R"("status":"completed")"));
  const auto record = api.get(api.path("/delegations/" + id), api.agent);
  EXPECT_THAT(record.body, HasSubstr(R"("result":"ten")"));
  EXPECT_THAT(record.body, HasSubstr(R"("late_answer":"no")"));
}

TEST_F(DelegationsApi, ABeatTakesAnyContentTypeAndItsBodyCounts) {
  const auto id = give_id();
  Ask form;
  form.method = "POST";
  form.target = in(api.other, "/delegations/" + id + "/heartbeat");
  form.bearer(callee).with("Content-Type", "application/x-www-form-urlencoded");
  for (const char* body : {"a=b", R"({"progress":"half"})"}) {
    form.body = body;
    const auto beaten = api.ask(form);
    EXPECT_EQ(beaten.status, 200) << body;
    EXPECT_EQ(beaten.body, R"({"status":"dispatched","cancel":false})");
  }
  EXPECT_EQ(api.desk.store->find_delegation(id)->progress, "half");
}

TEST_F(DelegationsApi, ATaskIsAHitAlsoAfterTheDeadlineItWasGivenWith) {
  const std::string deadline = ",\"deadline\":\"" + format_time(desk::kStart + std::chrono::minutes(1)) + "\"";
  EXPECT_EQ(give(deadline + R"(,"delegation_id":"d1")").status, 202);
  api.desk.clock.advance(std::chrono::minutes(2));
  EXPECT_EQ(give(deadline + R"(,"delegation_id":"d1")").status, 200);
  const auto fresh = give(deadline + R"(,"delegation_id":"d2")");
  EXPECT_EQ(fresh.status, 400);
  EXPECT_THAT(fresh.body, HasSubstr(R"("field":"deadline")"));
  EXPECT_THAT(give(R"(,"deadline":"tomorrow")").body, HasSubstr("deadline must be an RFC3339 time"));
}

TEST_F(DelegationsApi, AResultThatIsTooLargeIsRefusedWithAHintToSendAFile) {
  const auto id = give_id();
  const auto answer =
      by_callee(id, "update", R"({"status":"completed","result":")" + std::string(kMaxResultBody, 'x') + "\"}");
  EXPECT_EQ(answer.status, 413);
  EXPECT_THAT(answer.body, HasSubstr("travels as a file"));
}

TEST_F(DelegationsApi, TheOperatorSeesAllAndAllSixCounts) {
  const auto id = give_id();
  const auto all = api.get("/admin/delegations", api.admin);
  EXPECT_THAT(all.body, HasSubstr(R"({"count":1,"delegations":[{"delegation_id":")" + id));
  EXPECT_THAT(all.body, HasSubstr(R"("limit":100,"status":"in_flight"})"));
  EXPECT_EQ(api.get("/admin/delegations?status=stuck&limit=100000", api.admin).body,
            R"({"count":0,"delegations":[],"limit":1000,"status":"stuck"})");
  EXPECT_EQ(api.get("/admin/delegations?status=queued", api.admin).status, 400);
  EXPECT_EQ(api.get("/admin/delegations/stats", api.admin).body,
            R"({"queued":1,"dispatched":0,"in_progress":0,"completed":0,"failed":0,"stuck":0})");
}

TEST_F(DelegationsApi, AnAgentThatMayNotTalkMayNotDelegate) {
  EXPECT_EQ(api.post(api.path("/delegate"), api.agent,
                     R"({"target_id":")" + WorkspaceId::make(desk::kStart).text() + R"(","task":"x"})")
                .status,
            403);
}

TEST_F(DelegationsApi, AnAckOfTheInboxIsRecorded) {
  const auto id = give_id();
  EXPECT_EQ(api.post(in(api.other, "/activity/ack"), callee, R"({"acked_seq":1})").status, 200);
  api.desk.delegations.pick_up();
  EXPECT_EQ(api.desk.store->find_delegation(id)->status, Status::dispatched);
}

TEST_F(DelegationsApi, ACallbacksAnswerIsReadAsAReport) {
  const auto read = [](int status, std::string body) {
    http::Forwarded came;
    came.outcome = Outcome::answered;
    came.status = status;
    came.body = std::move(body);
    return report_in(came);
  };
  EXPECT_EQ(read(200, "").status, Status::dispatched);
  EXPECT_EQ(read(200, "not json").status, Status::dispatched);
  EXPECT_EQ(read(202, R"({"status":"accepted"})").status, Status::dispatched);
  EXPECT_EQ(read(404, "{}").text, "callback answered 404");
  EXPECT_EQ(read(404, "{}").status, Status::failed);
  EXPECT_EQ(read(200, R"({"error":{"code":1}})").status, Status::failed);
  EXPECT_EQ(read(200, R"({"result":{"kind":"message","parts":[{"kind":"text","text":"a"}]}})").text, "a");
  EXPECT_EQ(read(200, R"({"result":{"status":{"state":"submitted"}}})").status, Status::in_progress);
  EXPECT_EQ(read(200, R"({"result":{"status":{"state":"rejected"}}})").status, Status::failed);
  EXPECT_EQ(read(200, R"({"result":{"status":{"state":"completed"}}})").status, Status::completed);
}

class PushedTasks : public DelegationsApi {
 protected:
  PushedTasks() {
    api.push.call = [this](http::Forward order) { orders.push_back(std::move(order)); };
  }
  Answer delegate() {
    return api.post(api.path("/delegate"), api.agent,
                    R"({"target_id":")" + pushed.text() + R"(","task":"do it","delegation_id":"d1"})");
  }
  static http::Forwarded answered(std::string body) {
    http::Forwarded came;
    came.outcome = Outcome::answered;
    came.status = 200;
    came.body = std::move(body);
    return came;
  }
  double pushes(const char* outcome) { return api.desk.metrics.pushes(outcome).Value(); }

  const WorkspaceId pushed = api.desk.make_workspace(DeliveryMode::push);
  std::vector<http::Forward> orders;
};

TEST_F(PushedTasks, ATaskIsAnsweredBeforeTheCallbackIsCalledAndTheCallbacksAnswerChangesItsStatus) {
  EXPECT_EQ(delegate().status, 202);
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(api.desk.store->find_delegation("d1")->status, Status::queued);
  EXPECT_THAT(orders[0].body, HasSubstr(R"("delegation_id":"d1")"));
  const auto came = answered(R"({"result":{"kind":"message","parts":[{"kind":"text","text":"ten"}]}})");
  TestApi::settle(orders[0].then(came));
  EXPECT_EQ(api.desk.store->read_delegation("d1")->result, "ten");
  EXPECT_EQ(api.desk.inbox_of(pushed).size(), 0u) << "nothing for a poller to take twice";
  TestApi::settle(orders[0].then(came));
  EXPECT_EQ(pushes("delivered"), 1) << "called twice, as after a moment without a store, it is counted once";
  EXPECT_EQ(api.desk.store->read_delegation("d1")->history.size(), 2u);
}

TEST_F(PushedTasks, ATaskItCouldNotTakeGoesToItsInbox) {
  delegate();
  ASSERT_EQ(orders.size(), 1u);
  http::Forwarded came;
  came.outcome = Outcome::unreachable;
  TestApi::settle(orders[0].then(came));
  EXPECT_EQ(api.desk.store->find_delegation("d1")->status, Status::queued);
  EXPECT_EQ(api.desk.inbox_of(pushed).size(), 1u);
}

TEST_F(PushedTasks, WhileCallsArePausedTheCallbackIsNotCalledAndTheTaskIsInTheInboxAtOnce) {
  const std::string url = api.desk.store->find_workspace(pushed)->url;
  for (int i = 0; i < 5; ++i) api.callbacks.acquire(pushed, url)->failed();
  EXPECT_EQ(delegate().status, 202);
  EXPECT_TRUE(orders.empty());
  EXPECT_EQ(pushes("spared"), 1);
  EXPECT_EQ(api.desk.inbox_of(pushed).size(), 1u);
}

TEST_F(PushedTasks, ATaskThatWasGivenBeforeIsNotPushedAgain) {
  delegate();
  EXPECT_EQ(delegate().status, 200);
  EXPECT_EQ(orders.size(), 1u);
}

}  // namespace
}  // namespace restante::api
