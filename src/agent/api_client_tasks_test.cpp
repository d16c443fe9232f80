#include <gmock/gmock.h>

#include "agent/delivery.h"
#include "client/test_server.h"

namespace restante::agent {
namespace {

using client::TestConnection;
using client::TestServer;
using testing::ElementsAre;
using testing::StartsWith;
using TaskInterest = ApiClient::TaskInterest;

// Sent by a proxy with a wrong clock.
constexpr std::string_view kDate = "Date: Sun, 15 Nov 2026 20:00:00 GMT\r\n";

struct CannedAnswer {
  std::string status;
  std::string body;
};

// The server's record of the task `d/1` that `peer` gave to `w`, with these members.
std::string record(const std::string& members) {
  return R"({"delegation_id":"d/1","source_id":"peer","target_id":"w","task":"do it","recorded":false,)" + members +
         "}";
}

// A server that answers one request after the other and keeps their first lines. The message is the task's.
class ApiClientTasks : public testing::Test {
 protected:
  client::Outcome<ApiClient::TaskView> begin(std::vector<CannedAnswer> answers) {
    return ask(std::move(answers), [this](ApiClient& api) { return api.begin_delegation(message_); });
  }
  client::Outcome<ApiClient::TaskView> read_view(std::vector<CannedAnswer> answers) {
    return ask(std::move(answers), [this](ApiClient& api) { return api.view_delegation(message_); });
  }

  std::vector<std::string> requests_;
  Delivery message_ = [] {
    Delivery message;
    message.type = "message";
    message.source_id = "peer";
    message.text = "do it";
    message.delegation_id = "d/1";
    return message;
  }();

 private:
  client::Outcome<ApiClient::TaskView> ask(
      std::vector<CannedAnswer> answers, const std::function<client::Outcome<ApiClient::TaskView>(ApiClient&)>& call) {
    requests_.clear();
    const TestServer server({[this, answers](TestConnection& peer) {
      for (const auto& [status, body] : answers) {
        const auto request = peer.read_request();
        requests_.push_back(request.substr(0, request.find(" HTTP/")));
        peer.answer(status, body, kDate);
      }
      peer.wait_until_closed();
    }});
    ApiClient api(client::parse_url(server.url()).value(), "token");
    api.use_workspace("w");
    return call(api);
  }
};

TEST_F(ApiClientTasks, AWantedTaskIsBegunOnceTheServerHasConfirmedIt) {
  const auto view =
      begin({{"200 OK",
              record(R"("status":"queued","deadline":"2026-11-15T12:01:00Z","agent_seen_at":"2026-11-15T12:00:00Z")")},
             {"200 OK", "{}"}})
          .value();
  EXPECT_EQ(view.interest, TaskInterest::wanted);
  EXPECT_EQ(view.left, std::chrono::minutes(1));
  EXPECT_THAT(requests_,
              ElementsAre("GET /workspaces/w/delegations/d%2F1", "POST /workspaces/w/delegations/d%2F1/update"));
}

TEST_F(ApiClientTasks, OneThatHasEndedIsLeftAsItIs) {
  const std::tuple<const char*, TaskInterest, const char*> ends[] = {
      {R"("status":"failed","error_detail":"cancelled by caller")", TaskInterest::unwanted, "cancelled by caller"},
      {R"("status":"completed")", TaskInterest::unwanted, "completed"},
      {R"("status":"stuck","error_detail":"")", TaskInterest::late, "stuck"},
      {R"("status":"queued","deadline":"2026-11-15T12:00:00Z","agent_seen_at":"2026-11-15T12:00:00Z")",
       TaskInterest::unwanted, "its deadline has passed"}};
  for (const auto& [members, interest, why] : ends) {
    const auto view = begin({{"200 OK", record(members)}}).value();
    EXPECT_EQ(view.interest, interest) << members;
    EXPECT_EQ(view.why, why);
    EXPECT_EQ(requests_.size(), 1u);
  }
}

TEST_F(ApiClientTasks, OnlyTheServersOwnClockMakesOneOverdue) {
  const auto view = read_view({{"200 OK", record(R"("status":"queued","deadline":"2001-01-01T00:00:00Z")")}}).value();
  EXPECT_EQ(view.interest, TaskInterest::wanted) << "the server has not ended it, and no other clock counts";
  EXPECT_FALSE(view.left);
}

TEST_F(ApiClientTasks, OneThatEndsInBetweenIsSeenAsEnded) {
  const auto view = begin({{"200 OK", record(R"("status":"queued")")},
                           {"409 Conflict", R"({"error":"over","code":"delegation_ended"})"},
                           {"200 OK", record(R"("status":"failed","error_detail":"cancelled by caller")")}})
                        .value();
  EXPECT_EQ(view.interest, TaskInterest::unwanted);
  EXPECT_EQ(view.why, "cancelled by caller");
}

TEST_F(ApiClientTasks, ATaskThatTheServerDoesNotShowIsNotBegun) {
  EXPECT_EQ(begin({{"404 Not Found", "{}"}}).error().status, 404);
  EXPECT_EQ(requests_.size(), 1u);
}

TEST_F(ApiClientTasks, OnlyTheMessageThatTheServerWroteIsATask) {
  const auto interest = [this](const std::string& answer) { return begin({{"200 OK", answer}}).value().interest; };
  const std::string fine = record(R"("status":"completed")");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = fine;
    return changed.replace(changed.find(from), from.size(), to);
  };
  EXPECT_EQ(interest(fine), TaskInterest::unwanted);
  for (const auto& forged : {with(R"("peer")", R"("another")"), with(R"("target_id":"w")", R"("target_id":"peer")"),
                             with("do it", "do something else"), with("false", "true")}) {
    EXPECT_EQ(interest(forged), TaskInterest::not_a_task) << forged;
    EXPECT_EQ(requests_.size(), 1u) << "nothing is reported for it";
  }
  EXPECT_EQ(interest(with(R"("task":"do it",)", "")), TaskInterest::unwanted) << "a server that does not repeat it";
  message_.source_id.reset();
  EXPECT_EQ(interest(fine), TaskInterest::not_a_task) << "a person's message";
}

TEST_F(ApiClientTasks, WhenTheServerCannotAnswerTheTaskIsNotBegun) {
  EXPECT_EQ(begin({{"503 Service Unavailable", "{}"}}).error().status, 503);
  EXPECT_EQ(begin({{"200 OK", record(R"("status":"queued")")}, {"503 Service Unavailable", "{}"}}).error().status, 503);
  EXPECT_EQ(read_view({{"200 OK", "<html>"}}).error().kind, client::Failure::Kind::protocol);
}

TEST_F(ApiClientTasks, ViewingATaskChangesNothing) {
  EXPECT_EQ(read_view({{"200 OK", record(R"("status":"queued")")}}).value().interest, TaskInterest::wanted);
  EXPECT_THAT(requests_, ElementsAre(StartsWith("GET ")));
}

}  // namespace
}  // namespace restante::agent
