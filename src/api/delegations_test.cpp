#include "api/delegations.h"

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

TEST_F(DelegationsApi, AListSaysWhatTheContractNamesAndWhy) {
  give(R"(,"delegation_id":"d1")");
  const auto list = api.get(api.path("/delegations?status=in_flight&direction=sent"), api.agent);
  EXPECT_EQ(list.status, 200);
  for (const char* name :
       {"delegation_id", "source_id", "target_id", "direction", "status", "summary", "response_preview", "error",
        "error_detail", "last_heartbeat", "deadline", "created_at", "updated_at", "why"}) {
    EXPECT_THAT(list.body, HasSubstr("\"" + std::string(name) + "\":"));
  }
  EXPECT_THAT(list.body, HasSubstr(R"("why":"the callee has never connected")"));
  EXPECT_EQ(api.get(api.path("/delegations?direction=received"), api.agent).body, "[]");
  EXPECT_EQ(api.get(api.path("/delegations?direction=up"), api.agent).status, 400);
  EXPECT_THAT(api.get(api.path("/delegations?status=up"), api.agent).body, HasSubstr("\"allowed\":"));
}

TEST_F(DelegationsApi, AReportMovesItOnAndALateOneIsToldWhatStands) {
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

TEST_F(DelegationsApi, AResultThatIsTooLargeIsToldToTravelAsAFile) {
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

TEST_F(DelegationsApi, WhoMayNotTalkMayNotDelegate) {
  EXPECT_EQ(api.post(api.path("/delegate"), api.agent,
                     R"({"target_id":")" + WorkspaceId::make(desk::kStart).text() + R"(","task":"x"})")
                .status,
            403);
}

TEST_F(DelegationsApi, AnAckOfTheInboxIsNoted) {
  const auto id = give_id();
  EXPECT_EQ(api.post(in(api.other, "/activity/ack"), callee, R"({"acked_seq":1})").status, 200);
  api.desk.delegations.pick_up();
  EXPECT_EQ(api.desk.store->find_delegation(id)->status, Status::dispatched);
}

TEST_F(DelegationsApi, WhatACallbackAnswersIsReadAsAReport) {
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
  // The order that the answer comes down to once the task is written down.
  std::shared_ptr<http::Forward> order_in(http::Response response) {
    while (const auto* later = std::get_if<std::shared_ptr<http::Later>>(&response.content)) {
      std::promise<void> done;
      (*later)->when_done([&] { done.set_value(); });
      done.get_future().wait();
      http::Response next = (*later)->answer();
      response = std::move(next);
    }
    const auto* forward = std::get_if<std::shared_ptr<http::Forward>>(&response.content);
    return forward ? *forward : nullptr;
  }
  http::Response delegate(const std::string& more = "") {
    http::Request request;
    const std::string body =
        R"({"target_id":")" + pushed.text() + R"(","task":"do it","delegation_id":"d1")" + more + "}";
    const std::string head =
        "POST " + api.path("/delegate") + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + api.agent +
        "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    EXPECT_FALSE(http::parse_head(head, http::Limits(), request));
    request.body = body;
    const auto match = api.router.match(request);
    EXPECT_FALSE(match.route->admit(request));
    return match.route->handle(request);
  }
  const WorkspaceId pushed = api.desk.make_workspace(DeliveryMode::push);
};

TEST_F(PushedTasks, ATaskIsWrittenDownBeforeTheCallbackIsAskedAndItsAnswerMovesItOn) {
  const auto order = order_in(delegate());
  ASSERT_TRUE(order);
  EXPECT_EQ(api.desk.store->find_delegation("d1")->status, Status::queued);
  EXPECT_THAT(order->body, HasSubstr(R"("delegation_id":"d1")"));
  http::Forwarded came;
  came.outcome = Outcome::answered;
  came.status = 200;
  came.body = R"({"result":{"kind":"message","parts":[{"kind":"text","text":"ten"}]}})";
  const auto answer = TestApi::settle(order->then(came));
  EXPECT_EQ(answer.status, 202);
  EXPECT_EQ(api.desk.store->read_delegation("d1")->result, "ten");
  EXPECT_EQ(api.desk.log_of(pushed).size(), 0u) << "nothing for a poller to take twice";
}

TEST_F(PushedTasks, ATaskItCouldNotTakeGoesToItsInbox) {
  const auto order = order_in(delegate());
  ASSERT_TRUE(order);
  http::Forwarded came;
  came.outcome = Outcome::unreachable;
  EXPECT_EQ(TestApi::settle(order->then(came)).status, 202);
  EXPECT_EQ(api.desk.store->find_delegation("d1")->status, Status::queued);
  EXPECT_EQ(api.desk.log_of(pushed).size(), 1u);
}

TEST_F(PushedTasks, ATaskThatWasGivenBeforeIsNotPushedAgain) {
  ASSERT_TRUE(order_in(delegate()));
  EXPECT_FALSE(order_in(delegate()));
}

}  // namespace
}  // namespace restante::api
