#include "agent/background_reports.h"

#include <gmock/gmock.h>

#include <deque>
#include <future>

#include "base/test_clock.h"
#include "base/test_folder.h"
#include "client/test_server.h"

namespace restante::agent {
namespace {

using client::TestConnection;
using client::TestServer;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

void answer_all(TestConnection& peer) {
  while (!peer.read_request().empty()) peer.answer("200 OK", "{}");
}

class BackgroundReportsTest : public testing::Test {
 protected:
  BackgroundReportsTest() {
    options_.pause_first = options_.pause_most = std::chrono::milliseconds(1);
    options_.beat = std::chrono::milliseconds(10);
    ledger_.set_identity("s", "w", "");
  }

  // Runs against the script until `until` is set.
  void run(TestServer::Script script, std::future<void> until) {
    TestServer server({std::move(script)});
    BackgroundReports reports(
        options_, ledger_, clock_, [this] { reconnected_.set_value(); },
        [this](const std::string& task) {
          given_up_.push_back(task);
          gave_up_();
        },
        [](std::string_view) {});
    auto api = std::make_unique<ApiClient>(client::parse_url(server.url()).value(), "token");
    api->use_workspace("w");
    reports.start(std::move(api), server.url());
    started_(reports);
    EXPECT_EQ(until.wait_for(std::chrono::seconds(60)), std::future_status::ready);
    reports.stop();
  }
  void queue(Reply reply) {
    change::DeliveryEnd end{"row-" + reply.key, "2026", {}, {}, std::move(reply)};
    ledger_.end_delivery(end);
  }

  TestFolder folder_;
  ManualClock clock_{*parse_time("2026-11-15T12:00:00Z")};
  Ledger ledger_{StateDirectory::open(folder_.path()).value(), State(), [](std::string_view) {}};
  ReportOptions options_;
  std::promise<void> reconnected_;
  std::vector<std::string> given_up_;  // read after run()
  std::function<void()> gave_up_ = [] {};
  std::function<void(BackgroundReports&)> started_ = [](BackgroundReports&) {};
};

TEST_F(BackgroundReportsTest, EachReplyIsSentToItsTargetUnderItsKey) {
  options_.beat = std::chrono::hours(1);
  queue({"k1", "to a person", Reply::To::person, {}, 0, false});
  queue({"k2", "to an agent", Reply::To::agent, "peer", 3, false});
  queue({"k3", "a result", Reply::To::delegation, "d1", 0, false});
  queue({"k4", "no", Reply::To::delegation, "d2", 0, true});
  std::vector<std::string> asked;
  std::promise<void> done;
  auto until = done.get_future();
  run(
      [&](TestConnection& peer) {
        while (asked.size() < 4) {
          auto request = peer.read_request();
          if (request.find("Idempotency-Key: ") != std::string::npos) asked.push_back(std::move(request));
          peer.answer("200 OK", "{}");
        }
        done.set_value();
        peer.wait_until_closed();
      },
      std::move(until));
  EXPECT_THAT(asked[0], HasSubstr("POST /workspaces/w/notify "));
  EXPECT_THAT(asked[0], HasSubstr("Idempotency-Key: k1\r\n"));
  EXPECT_THAT(asked[1], HasSubstr("POST /workspaces/peer/a2a "));
  EXPECT_THAT(asked[1], HasSubstr(R"("metadata":{"restante_hops":3})"));
  EXPECT_THAT(asked[2], HasSubstr("POST /workspaces/w/delegations/d1/update "));
  EXPECT_THAT(asked[2], HasSubstr(R"({"status":"completed","result":"a result"})"));
  EXPECT_THAT(asked[3], HasSubstr(R"({"status":"failed","error":"no"})"));
}

TEST_F(BackgroundReportsTest, AReplyStaysUntilItIsAcceptedAndARefusedOneDoesNotBlockTheNext) {
  options_.beat = std::chrono::hours(1);
  queue({"k1", "refused", Reply::To::person, {}, 0, false});
  queue({"k2", "second", Reply::To::person, {}, 0, false});
  std::vector<std::string> keys;
  std::promise<void> done;
  auto until = done.get_future();
  // The clock does not move, so the pause after a failure has to be over at once.
  options_.pause_first = options_.pause_most = std::chrono::milliseconds(0);
  run(
      [&](TestConnection& peer) {
        // The redirects of a sign-in page are no refusal; the 400 is one.
        std::deque<const char*> answers = {"503 Service Unavailable", "302 Found", "308 Permanent Redirect",
                                           "400 Bad Request", "200 OK"};
        while (!answers.empty()) {
          const auto asked = peer.read_request();
          if (asked.empty()) return;
          const auto key = asked.find("Idempotency-Key: ");
          if (key == std::string::npos) {  // a beat
            peer.answer("200 OK", "{}");
            continue;
          }
          keys.push_back(asked.substr(key + 17, 2));
          peer.answer(answers.front(), "{}");
          answers.pop_front();
        }
        done.set_value();
        peer.wait_until_closed();
      },
      std::move(until));
  EXPECT_THAT(keys, ElementsAre("k1", "k1", "k1", "k1", "k2"));
}

TEST_F(BackgroundReportsTest, ARefusedResultEndsItsTaskUnlessTheTaskHasEnded) {
  options_.beat = std::chrono::hours(1);
  options_.pause_first = options_.pause_most = std::chrono::milliseconds(0);
  queue({"k1", "too much", Reply::To::delegation, "d1", 0, false});
  queue({"k2", "late", Reply::To::delegation, "d2", 0, false});
  queue({"k3", "of none", Reply::To::delegation, "d3", 0, false});
  queue({"k4", "no", Reply::To::delegation, "d4", 0, true});
  queue({"k5", "last", Reply::To::person, {}, 0, false});
  std::vector<std::string> asked;
  std::promise<void> done;
  auto until = done.get_future();
  run(
      [&](TestConnection& peer) {
        // The report of the failure gets a 503 the first time, so that both requests are sent again.
        std::deque<const char*> answers = {
            "413 Payload Too Large", "503 Service Unavailable", "413 Payload Too Large", "200 OK",
            "409 Conflict",          "404 Not Found",           "400 Bad Request",       "200 OK"};
        while (!answers.empty()) {
          auto request = peer.read_request();
          if (request.find("Idempotency-Key: ") == std::string::npos) {  // a beat
            peer.answer("200 OK", "{}");
            continue;
          }
          asked.push_back(std::move(request));
          peer.answer(answers.front(), R"({"error":"the result is too large","code":"result_too_large"})");
          answers.pop_front();
        }
        done.set_value();
        peer.wait_until_closed();
      },
      std::move(until));
  ASSERT_EQ(asked.size(), 8u);
  EXPECT_THAT(asked[0], HasSubstr(R"("status":"completed")"));
  for (const int report : {1, 3}) {
    EXPECT_THAT(asked[report], HasSubstr("POST /workspaces/w/delegations/d1/update "));
    EXPECT_THAT(asked[report], HasSubstr("Idempotency-Key: k1-refused\r\n"));
    EXPECT_THAT(asked[report], HasSubstr(R"("status":"failed","error":")"));
    EXPECT_THAT(asked[report], HasSubstr("the result is too large"));
  }
  EXPECT_THAT(asked[2], HasSubstr("Idempotency-Key: k1\r\n"));
  EXPECT_THAT(asked[4], HasSubstr("Idempotency-Key: k2\r\n"));
  EXPECT_THAT(asked[5], HasSubstr("Idempotency-Key: k3\r\n"));
  EXPECT_THAT(asked[6], HasSubstr("Idempotency-Key: k4\r\n"));
  EXPECT_THAT(asked[7], HasSubstr("POST /workspaces/w/notify "));
}

TEST_F(BackgroundReportsTest, ABeatDoesNotContainTheNumberOfTasks) {
  std::string asked;
  std::promise<void> done;
  auto until = done.get_future();
  run(
      [&](TestConnection& peer) {
        asked = peer.read_request();
        peer.answer("200 OK", "{}");
        done.set_value();
        peer.wait_until_closed();
      },
      std::move(until));
  EXPECT_THAT(asked, HasSubstr("POST /registry/heartbeat "));
  EXPECT_THAT(asked, HasSubstr(R"({"workspace_id":"w","uptime_seconds":0})"));
}

TEST_F(BackgroundReportsTest, ATaskHasHeartbeatsAsLongAsItIsInProgressAndHasNotEnded) {
  options_.task_beat = std::chrono::milliseconds(10);
  started_ = [](BackgroundReports& reports) { reports.set_current_task("d/1"); };
  std::vector<std::string> beats;
  std::promise<void> done;
  auto until = done.get_future();
  run(
      [&](TestConnection& peer) {
        const std::deque<const char*> answers = {R"({"status":"in_progress","cancel":false})",
                                                 R"({"status":"failed","cancel":true})"};
        int beats_after = 0;
        while (beats_after < 3) {
          const auto asked = peer.read_request();
          clock_.advance(std::chrono::milliseconds(20));
          if (asked.find("/delegations/") == std::string::npos) {
            peer.answer("200 OK", "{}");
            if (beats.size() >= answers.size()) ++beats_after;
            continue;
          }
          beats.push_back(asked);
          peer.answer("200 OK", beats.size() <= answers.size() ? answers[beats.size() - 1] : "{}");
        }
        done.set_value();
        peer.wait_until_closed();
      },
      std::move(until));
  ASSERT_EQ(beats.size(), 2u) << "none after it had ended";
  for (const auto& one : beats) EXPECT_THAT(one, HasSubstr("POST /workspaces/w/delegations/d%2F1/heartbeat "));
  EXPECT_THAT(given_up_, AllOf(Not(IsEmpty()), Each("d/1"))) << "repeated, until its command was ended";
}

TEST_F(BackgroundReportsTest, ATaskIsGivenUpAtItsDeadlineEvenBeforeTheServerEndsIt) {
  started_ = [](BackgroundReports& reports) { reports.set_current_task("d1", std::chrono::minutes(1)); };
  std::promise<Time> gave_up;
  gave_up_ = [&] {
    if (given_up_.size() == 1) gave_up.set_value(clock_.now());
  };
  auto when = gave_up.get_future();
  std::promise<void> done;
  auto until = done.get_future();
  run(
      [&](TestConnection& peer) {
        while (when.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
          const auto asked = peer.read_request();
          clock_.advance(std::chrono::seconds(1));
          peer.answer("200 OK", asked.find("/delegations/") == std::string::npos ? "{}" : R"({"cancel":false})");
        }
        done.set_value();
        peer.wait_until_closed();
      },
      std::move(until));
  EXPECT_GE(when.get(), *parse_time("2026-11-15T12:01:00Z"));
  EXPECT_THAT(given_up_, Each("d1"));
}

TEST_F(BackgroundReportsTest, ATaskThatWasGivenUpAsSilentIsStillFinished) {
  options_.task_beat = std::chrono::milliseconds(10);
  started_ = [](BackgroundReports& reports) { reports.set_current_task("d1"); };
  std::promise<void> done;
  auto until = done.get_future();
  std::vector<std::string> beats;
  run(
      [&](TestConnection& peer) {
        for (int beats_after = 0; beats_after < 3;) {
          const auto asked = peer.read_request();
          clock_.advance(std::chrono::milliseconds(20));
          if (asked.find("/delegations/") == std::string::npos) {
            peer.answer("200 OK", "{}");
            if (beats.size() == 1) ++beats_after;
            continue;
          }
          beats.push_back(asked);
          peer.answer("200 OK", R"({"status":"stuck","cancel":true})");
        }
        done.set_value();
        peer.wait_until_closed();
      },
      std::move(until));
  ASSERT_EQ(beats.size(), 1u);
  EXPECT_THAT(beats[0], HasSubstr("/heartbeat "));
  EXPECT_TRUE(given_up_.empty());
}

TEST_F(BackgroundReportsTest, ASleepOfTheMachineIsDetectedByTheClocks) {
  started_ = [this](BackgroundReports& reports) {
    clock_.jump(std::chrono::hours(8));
    reports.wake();
  };
  run(answer_all, reconnected_.get_future());
}

TEST_F(BackgroundReportsTest, WithoutCompletedPollsTheConnectionsAreOpenedAgain) {
  started_ = [this](BackgroundReports& reports) {
    clock_.advance(options_.poll_silence + std::chrono::seconds(1));
    reports.wake();
  };
  run(answer_all, reconnected_.get_future());
}

TEST_F(BackgroundReportsTest, TheHealthFileHasTheTimeOfTheLastAnsweredPollAndTheTrouble) {
  BackgroundReports reports(options_, ledger_, clock_, [] {}, [](const std::string&) {}, [](std::string_view) {});
  reports.poll_completed();
  EXPECT_THAT(inspect_state(folder_.path().string()).value().health,
              HasSubstr(R"("last_poll_at":"2026-11-15T12:00:00.000000Z","trouble":"")"));
  reports.set_trouble("refused");
  EXPECT_THAT(inspect_state(folder_.path().string()).value().health, HasSubstr(R"("trouble":"refused")"));
}

}  // namespace
}  // namespace restante::agent
