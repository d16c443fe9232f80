#include <gmock/gmock.h>

#include "agent/platform.h"
#include "client/test_server.h"

namespace restante::agent {
namespace {

using client::Peer;
using client::TestServer;
using testing::ElementsAre;
using testing::StartsWith;
using Standing = Platform::Standing;

// Of a proxy with a wrong clock.
constexpr std::string_view kDate = "Date: Sun, 15 Nov 2026 20:00:00 GMT\r\n";

struct Told {
  std::string status;
  std::string body;
};

// A server that answers one request after the other and keeps their first lines.
class PlatformTasks : public testing::Test {
 protected:
  client::Outcome<Platform::TaskView> begin(std::vector<Told> answers) {
    return ask(std::move(answers), [](Platform& platform) { return platform.begin_delegation("d/1"); });
  }
  client::Outcome<Platform::TaskView> look(std::vector<Told> answers) {
    return ask(std::move(answers), [](Platform& platform) { return platform.look_at_delegation("d/1"); });
  }

  std::vector<std::string> asked_;

 private:
  client::Outcome<Platform::TaskView> ask(std::vector<Told> answers,
                                          const std::function<client::Outcome<Platform::TaskView>(Platform&)>& call) {
    asked_.clear();
    const TestServer server({[this, answers](Peer& peer) {
      for (const auto& [status, body] : answers) {
        const auto request = peer.read_request();
        asked_.push_back(request.substr(0, request.find(" HTTP/")));
        peer.answer(status, body, kDate);
      }
      peer.wait_until_closed();
    }});
    Platform platform(client::parse_url(server.url()).value(), "token");
    platform.use_workspace("w");
    return call(platform);
  }
};

TEST_F(PlatformTasks, ATaskThatIsWantedIsBegunOnceTheServerHasSaidSo) {
  const auto view =
      begin({{"200 OK",
              R"({"status":"queued","deadline":"2026-11-15T12:01:00Z","agent_seen_at":"2026-11-15T12:00:00Z"})"},
             {"200 OK", "{}"}})
          .value();
  EXPECT_EQ(view.standing, Standing::wanted);
  EXPECT_EQ(view.left, std::chrono::minutes(1));
  EXPECT_THAT(asked_,
              ElementsAre("GET /workspaces/w/delegations/d%2F1", "POST /workspaces/w/delegations/d%2F1/update"));
}

TEST_F(PlatformTasks, OneThatHasEndedIsLeftAsItIs) {
  const std::tuple<const char*, Standing, const char*> ends[] = {
      {R"({"status":"failed","error_detail":"cancelled by caller"})", Standing::unwanted, "cancelled by caller"},
      {R"({"status":"completed"})", Standing::unwanted, "completed"},
      {R"({"status":"stuck","error_detail":""})", Standing::late, "stuck"},
      {R"({"status":"queued","deadline":"2026-11-15T12:00:00Z","agent_seen_at":"2026-11-15T12:00:00Z"})",
       Standing::unwanted, "its deadline has passed"}};
  for (const auto& [record, standing, why] : ends) {
    const auto view = begin({{"200 OK", record}}).value();
    EXPECT_EQ(view.standing, standing) << record;
    EXPECT_EQ(view.why, why);
    EXPECT_EQ(asked_.size(), 1u);
  }
}

TEST_F(PlatformTasks, OnlyTheServersOwnClockMakesOneOverdue) {
  const auto view = look({{"200 OK", R"({"status":"queued","deadline":"2001-01-01T00:00:00Z"})"}}).value();
  EXPECT_EQ(view.standing, Standing::wanted) << "it says so itself, whatever the hour is elsewhere";
  EXPECT_FALSE(view.left);
}

TEST_F(PlatformTasks, OneThatEndsInBetweenIsSeenAsEnded) {
  const auto view = begin({{"200 OK", R"({"status":"queued"})"},
                           {"409 Conflict", R"({"error":"over","code":"delegation_ended"})"},
                           {"200 OK", R"({"status":"failed","error_detail":"cancelled by caller"})"}})
                        .value();
  EXPECT_EQ(view.standing, Standing::unwanted);
  EXPECT_EQ(view.why, "cancelled by caller");
}

TEST_F(PlatformTasks, AServerThatLetsNobodyLookIsToldAllTheSame) {
  EXPECT_EQ(begin({{"404 Not Found", "{}"}, {"200 OK", "{}"}}).value().standing, Standing::wanted);
  EXPECT_EQ(begin({{"405 Method Not Allowed", "{}"}, {"409 Conflict", R"({"error":"over"})"}, {"404 Not Found", "{}"}})
                .value()
                .standing,
            Standing::unwanted);
  EXPECT_EQ(begin({{"404 Not Found", "{}"}, {"404 Not Found", "{}"}}).error().status, 404);
}

TEST_F(PlatformTasks, WhatCannotBeLearntIsNotGuessed) {
  EXPECT_EQ(begin({{"503 Service Unavailable", "{}"}}).error().status, 503);
  EXPECT_EQ(begin({{"200 OK", R"({"status":"queued"})"}, {"503 Service Unavailable", "{}"}}).error().status, 503);
  EXPECT_EQ(look({{"200 OK", "<html>"}}).error().kind, client::Failure::Kind::protocol);
}

TEST_F(PlatformTasks, LookingChangesNothing) {
  EXPECT_EQ(look({{"200 OK", R"({"status":"queued"})"}}).value().standing, Standing::wanted);
  EXPECT_THAT(asked_, ElementsAre(StartsWith("GET ")));
}

}  // namespace
}  // namespace restante::agent
