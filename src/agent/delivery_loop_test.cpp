#include "agent/delivery_loop.h"

#include <gmock/gmock.h>

#include <future>

#include "agent/test_folder.h"

namespace restante::agent {
namespace {

using testing::ElementsAre;
using Where = FileRecord::Where;

const FileId kFile = FileId::parse("22222222-2222-7222-8222-222222222222").value();
const std::string kUri = "platform-pending:11111111-1111-7111-8111-111111111111/" + kFile.text();

// Keeps what it is given and answers as told.
class RecordingHandover final : public Handover {
 public:
  HandoverResult deliver(const Delivery& delivery) override {
    const std::lock_guard lock(mutex_);
    seen_.push_back(delivery);
    changed_.notify_all();
    if (verdicts_.empty()) return {};
    auto verdict = verdicts_.front();
    verdicts_.pop_front();
    return verdict;
  }
  HandoverResult skip_ended(const Delivery& ended) override {
    skipped_.push_back(ended);
    return Handover::skip_ended(ended);
  }
  bool wait_for_receiver() override {
    there_ = true;
    return true;
  }
  bool has_receiver() const override { return there_; }
  bool has_begun(const Delivery&) const override { return begun_before_; }
  bool returns_when_done() const override { return works_; }
  void only_take() { works_ = false; }
  void leave() { there_ = false; }  // until it is waited for
  void remember_a_run() { begun_before_ = true; }
  const std::vector<Delivery>& skipped() const { return skipped_; }  // once the porter has ended
  void answer(HandoverResult verdict) { verdicts_.push_back(std::move(verdict)); }
  std::vector<Delivery> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return seen_.size() >= count; }));
    return seen_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Delivery> seen_;
  std::deque<HandoverResult> verdicts_;
  std::vector<Delivery> skipped_;
  bool works_ = true;
  bool begun_before_ = false;
  bool there_ = true;
};

class DeliveryLoopTest : public testing::Test {
 protected:
  DeliveryLoopTest() {
    options_.file_grace = std::chrono::milliseconds(0);
    options_.pause_first = options_.pause_most = std::chrono::milliseconds(1);
  }
  ~DeliveryLoopTest() override { end(); }

  DeliveryLoop& start() {
    delivery_loop_ = std::make_unique<DeliveryLoop>(
        options_, ledger_, handover_, stop_, [this] { ended_.push_back({}); }, [this] { closed_.set_value(); },
        [this](const std::string& delegation) -> client::Outcome<ApiClient::TaskView> {
          asked_.push_back(delegation);
          if (asked_.size() <= leaves_) handover_.leave();
          if (asked_.size() == 1) first_asked_.set_value();
          if (answers_.empty()) return ApiClient::TaskView();
          auto answer = answers_.front();
          answers_.pop_front();
          return answer;
        },
        [this](const std::string& delegation, std::optional<std::chrono::milliseconds>) {
          tasks_.push_back(delegation);
        },
        [this](std::string_view said) { said_.emplace_back(said); });
    delivery_loop_->start();
    return *delivery_loop_;
  }
  void end() {
    stop_.request();
    if (delivery_loop_) delivery_loop_->join();
  }
  static ReceivedRow message(std::int64_t seq, const std::string& parts, std::optional<std::string> source = {},
                             int hops = 0) {
    ReceivedRow row;
    row.id = "m" + std::to_string(seq);
    row.seq = seq;
    row.method = "message/send";
    row.source_id = std::move(source);
    row.created_at = "2026";
    row.request_body = parse_json(R"({"params":{"message":{"parts":[)" + parts + R"(],"metadata":{"restante_hops":)" +
                                  std::to_string(hops) + "}}}}")
                           .value();
    return row;
  }
  static ReceivedRow task(std::int64_t seq, const std::string& delegation) {
    auto row = message(seq, text("do it"), "peer");
    row.request_body.find("params")->find("message")->find("metadata")->set("delegation_id", Json::string(delegation));
    return row;
  }
  static client::Failure status(int status) {
    client::Failure failure(client::Failure::Kind::status, "status " + std::to_string(status));
    failure.status = status;
    return failure;
  }
  static std::string text(const std::string& said) { return R"({"kind":"text","text":")" + said + R"("})"; }
  static std::string file() { return R"({"kind":"file","file":{"uri":")" + kUri + R"(","name":"a"}})"; }
  void announce(Where where, std::string trouble = "", std::string reason = "") {
    FileRecord record;
    record.announced = {kFile, "a.txt", 5, ""};
    record.uri = kUri;
    record.row_id = "row";
    ledger_.announce(record);
    learn(where, std::move(trouble), std::move(reason));
  }
  void learn(Where where, std::string trouble = "", std::string reason = "") {
    auto record = ledger_.file(kFile).value();
    record.where = where;
    record.trouble = std::move(trouble);
    record.reason = std::move(reason);
    if (where == Where::landed) record.path = "/p";
    ledger_.file_updated(record);
  }

  TestFolder folder_;
  Stop stop_;
  Ledger ledger_{StateDirectory::open(folder_.path()).value(), State(), [](std::string_view) {}};
  RecordingHandover handover_;
  DeliveryOptions options_;
  std::vector<std::string> said_;
  std::deque<client::Outcome<ApiClient::TaskView>> answers_;  // of the server about a task; then: wanted
  std::vector<std::string> asked_;
  std::size_t leaves_ = 0;  // while the server is asked, so many times
  std::promise<void> first_asked_;
  std::vector<std::string> tasks_;  // as they came into the agent's hands and left them
  std::vector<std::monostate> ended_;
  std::promise<void> closed_;
  std::unique_ptr<DeliveryLoop> delivery_loop_;
};

TEST_F(DeliveryLoopTest, MessagesGoInOrderAndEachEndIsWrittenDown) {
  handover_.answer({HandoverResult::What::handled, "one", {}});
  auto& loop = start();
  for (int n = 1; n <= 3; ++n) loop.take(message(n, text(std::to_string(n))));
  const auto seen = handover_.wait_for(3);
  EXPECT_THAT((std::vector{seen[0].text, seen[1].text, seen[2].text}), ElementsAre("1", "2", "3"));
  end();
  const auto state = ledger_.state();
  EXPECT_TRUE(state.has_seen("m1", "2026"));
  ASSERT_EQ(state.outbox.size(), 1u);
  EXPECT_EQ(state.outbox[0].key, "reply-m1");
}

TEST_F(DeliveryLoopTest, AMessageWaitsForAFileThatIsOnItsWay) {
  announce(Where::waiting);
  auto& loop = start();
  loop.take(message(1, text("look") + "," + file()));
  EXPECT_EQ(loop.first_waiting(), 1);
  learn(Where::landed);
  loop.take(kFile);
  const auto seen = handover_.wait_for(1);
  EXPECT_EQ(seen[0].type, "message");
  EXPECT_EQ(seen[0].files[0].state, "landed");
  end();
  EXPECT_TRUE(ledger_.file(kFile)->handed_over);
}

TEST_F(DeliveryLoopTest, AMessageDoesNotWaitForEverAndTheFileComesAloneLater) {
  options_.file_patience = std::chrono::milliseconds(1);
  announce(Where::waiting, "missing");
  auto& loop = start();
  loop.take(message(1, text("look") + "," + file()));
  EXPECT_EQ(handover_.wait_for(1)[0].files[0].state, "missing");
  learn(Where::landed);
  loop.take(kFile);
  const auto seen = handover_.wait_for(2);
  EXPECT_EQ(seen[1].type, "file");
  EXPECT_EQ(seen[1].files[0].path, "/p");
}

TEST_F(DeliveryLoopTest, AFileThatCannotBeTakenIsToldOnceAndHoldsUpNobody) {
  announce(Where::waiting, "failed", "no room");
  auto& loop = start();
  loop.take(message(1, text("look") + "," + file()));
  const auto seen = handover_.wait_for(1);
  EXPECT_EQ(seen[0].files[0].state, "failed");
  EXPECT_EQ(seen[0].files[0].reason, "no room");
  loop.take(kFile);
  loop.take(message(2, text("next")));
  EXPECT_EQ(handover_.wait_for(2)[1].text, "next");
}

TEST_F(DeliveryLoopTest, AFileThatNobodyNamesIsToldAloneAlsoWhenItCannotBeTaken) {
  announce(Where::gone, "expired");
  auto& loop = start();
  loop.take(kFile);
  const auto seen = handover_.wait_for(1);
  EXPECT_EQ(seen[0].type, "file");
  EXPECT_EQ(seen[0].files[0].state, "expired");
  end();
  EXPECT_TRUE(ledger_.file(kFile)->notified);
}

TEST_F(DeliveryLoopTest, AFailureIsTriedAgainAsSuchAndThenApologisedFor) {
  options_.attempts = 3;
  for (int n = 0; n < 3; ++n) handover_.answer({HandoverResult::What::failed, {}, "no"});
  auto& loop = start();
  loop.take(message(1, text("poison")));
  loop.take(message(2, text("next")));
  const auto seen = handover_.wait_for(4);
  EXPECT_FALSE(seen[0].again);
  EXPECT_TRUE(seen[2].again);
  EXPECT_EQ(seen[3].text, "next");
  end();
  EXPECT_EQ(ledger_.state().outbox.at(0).key, "failed-m1");
}

TEST_F(DeliveryLoopTest, AnotherAgentIsAnsweredOnlyWhenAskedToAndNotForEver) {
  options_.agents = DeliveryOptions::Agents::answered;
  for (int n = 0; n < 2; ++n) handover_.answer({HandoverResult::What::handled, "hello", {}});
  auto& loop = start();
  loop.take(message(1, text("x"), "peer", 7));
  loop.take(message(2, text("x"), "peer", 8));
  handover_.wait_for(2);
  end();
  const auto outbox = ledger_.state().outbox;
  ASSERT_EQ(outbox.size(), 1u);
  EXPECT_EQ(outbox[0].to, Reply::To::agent);
  EXPECT_EQ(outbox[0].target, "peer");
  EXPECT_EQ(outbox[0].hops, 8);
}

TEST_F(DeliveryLoopTest, APeerThatDoesNotCountIsStillCountedAfterARestart) {
  options_.agents = DeliveryOptions::Agents::answered;
  for (int n = 0; n < 9; ++n) handover_.answer({HandoverResult::What::handled, "hello", {}});
  auto& loop = start();
  for (int n = 1; n <= 9; ++n) loop.take(message(n, text("x"), "peer"));
  handover_.wait_for(9);
  end();
  EXPECT_EQ(ledger_.state().outbox.size(), 8u);
  const auto known = State::parse(ledger_.state().dump()).value();
  EXPECT_EQ(known.answered.size(), 8u);
  EXPECT_EQ(next_hop(known.answered, "peer", 0, known.answered.back().created_at), std::nullopt);
}

TEST_F(DeliveryLoopTest, AnAnswerToATaskIsItsResult) {
  handover_.answer({HandoverResult::What::handled, "done", {}});
  auto row = message(1, text("x"), "peer");
  row.request_body.find("params")->find("message")->find("metadata")->set("delegation_id", Json::string("d1"));
  start().take(std::move(row));
  handover_.wait_for(1);
  end();
  const auto outbox = ledger_.state().outbox;
  ASSERT_EQ(outbox.size(), 1u);
  EXPECT_EQ(outbox[0].to, Reply::To::delegation);
  EXPECT_EQ(outbox[0].target, "d1");
  EXPECT_EQ(tasks_, (std::vector<std::string>{"d1", ""}));
}

TEST_F(DeliveryLoopTest, ATaskThatIsOnlyHandedOnIsNotSaidToBeWorkedOn) {
  handover_.only_take();
  auto row = message(1, text("x"), "peer");
  row.request_body.find("params")->find("message")->find("metadata")->set("delegation_id", Json::string("d1"));
  start().take(std::move(row));
  EXPECT_EQ(handover_.wait_for(1).front().delegation_id, "d1");
  end();
  EXPECT_TRUE(tasks_.empty()) << "nobody would beat for it, and it would be called stuck";
}

TEST_F(DeliveryLoopTest, OnlyTasksAreAskedAboutEachBeforeEveryAttempt) {
  handover_.answer({});
  handover_.answer({HandoverResult::What::failed, {}, "no"});
  auto& loop = start();
  loop.take(message(1, text("hello"), "peer"));
  loop.take(task(2, "d1"));
  auto result = task(3, "d2");
  result.method = "delegate_result";
  loop.take(std::move(result));
  handover_.wait_for(4);
  end();
  EXPECT_THAT(asked_, ElementsAre("d1", "d1"));
}

TEST_F(DeliveryLoopTest, ATaskThatHasEndedIsNotBegunAndTheNextGetsItsTurn) {
  using TaskInterest = ApiClient::TaskInterest;
  answers_ = {ApiClient::TaskView{TaskInterest::unwanted, "failed", "cancelled by caller"},
              ApiClient::TaskView{TaskInterest::late, "stuck", "silent"}};
  auto& loop = start();
  for (int n = 1; n <= 3; ++n) loop.take(task(n, "d" + std::to_string(n)));
  EXPECT_EQ(handover_.wait_for(1).front().delegation_id, "d3");
  end();
  ASSERT_EQ(handover_.skipped().size(), 2u);
  const auto& ended = handover_.skipped().front();
  EXPECT_THAT(std::tie(ended.type, ended.status, ended.reason, ended.text),
              testing::FieldsAre("ended", "failed", "cancelled by caller", "do it"));
  EXPECT_THAT(said_, testing::Contains("task d1 is over and is not begun: cancelled by caller"));
  EXPECT_EQ(tasks_, (std::vector<std::string>{"d3", ""}));
  EXPECT_TRUE(ledger_.state().outbox.empty()) << "nobody waits for a word";
  EXPECT_TRUE(ledger_.state().has_seen("m1", "2026"));
}

TEST_F(DeliveryLoopTest, ATaskThatWasCancelledBetweenTwoAttemptsIsNotTriedAgain) {
  answers_ = {ApiClient::TaskView(),
              ApiClient::TaskView{ApiClient::TaskInterest::unwanted, "failed", "cancelled by caller"}};
  handover_.answer({HandoverResult::What::failed, {}, "no"});
  auto& loop = start();
  loop.take(task(1, "d1"));
  loop.take(message(2, text("next")));
  EXPECT_EQ(handover_.wait_for(2).back().text, "next");
  end();
  EXPECT_EQ(handover_.skipped().size(), 1u);
  EXPECT_TRUE(ledger_.state().outbox.empty());
}

TEST_F(DeliveryLoopTest, ATaskWaitsForAServerThatCannotBeAskedAndIsNotRunBlindly) {
  using client::Failure;
  answers_ = {Failure(Failure::Kind::unreachable, "refused"), Failure(Failure::Kind::cut, "cut"),
              ApiClient::TaskView()};
  start().take(task(1, "d1"));
  const auto seen = handover_.wait_for(1);
  EXPECT_FALSE(seen[0].again) << "nothing was begun";
  end();
  EXPECT_THAT(asked_, ElementsAre("d1", "d1", "d1"));
  EXPECT_THAT(said_, ElementsAre("task d1 waits until the server tells whether it is still wanted: refused"));
}

TEST_F(DeliveryLoopTest, ATaskOfWhichTheServerNeverSaysAWordIsKept) {
  using client::Failure;
  options_.pause_first = options_.pause_most = std::chrono::hours(1);
  answers_ = {Failure(Failure::Kind::unreachable, "refused")};
  auto& loop = start();
  loop.take(task(1, "d1"));
  first_asked_.get_future().wait();
  end();
  EXPECT_EQ(loop.first_waiting(), 1);
  EXPECT_FALSE(ledger_.state().has_seen("m1", "2026"));
  EXPECT_FALSE(ledger_.has_begun("m1"));
}

TEST_F(DeliveryLoopTest, ATaskThatTheServerDoesNotKnowIsHandedOverLikeAnyMessage) {
  answers_ = {status(404), status(501)};
  auto& loop = start();
  loop.take(task(1, "d1"));
  loop.take(task(2, "d2"));
  EXPECT_EQ(handover_.wait_for(2).back().delegation_id, "d2");
  end();
  EXPECT_THAT(asked_, ElementsAre("d1", "d2"));
}

TEST_F(DeliveryLoopTest, TheSignInPageOfANetworkIsNoWordOfTheServer) {
  answers_ = {status(302), status(307), ApiClient::TaskView{ApiClient::TaskInterest::unwanted, "failed", "cancelled"}};
  auto& loop = start();
  loop.take(task(1, "d1"));
  loop.take(message(2, text("next")));
  EXPECT_EQ(handover_.wait_for(1).front().text, "next");
  end();
  EXPECT_EQ(handover_.skipped().size(), 1u);
}

TEST_F(DeliveryLoopTest, WhenTheTakerLeavesWhileTheServerIsAskedItIsAskedAgainForTheNext) {
  leaves_ = 1;
  answers_ = {ApiClient::TaskView(), ApiClient::TaskView{ApiClient::TaskInterest::unwanted, "failed", "cancelled"}};
  auto& loop = start();
  loop.take(task(1, "d1"));
  loop.take(message(2, text("next")));
  EXPECT_EQ(handover_.wait_for(1).front().text, "next");
  end();
  EXPECT_THAT(asked_, ElementsAre("d1", "d1"));
  ASSERT_EQ(handover_.skipped().size(), 1u);
  EXPECT_FALSE(handover_.skipped().front().again) << "nothing was begun";
}

TEST_F(DeliveryLoopTest, ATaskThatWasPutBackIsAskedAboutAgainAndIsNoFailure) {
  options_.attempts = 2;
  for (int n = 0; n < 3; ++n) handover_.answer({HandoverResult::What::not_taken, {}, {}});
  auto& loop = start();
  loop.take(task(1, "d1"));
  const auto seen = handover_.wait_for(4);
  EXPECT_FALSE(seen.back().again) << "nobody has it";
  end();
  EXPECT_THAT(asked_, ElementsAre("d1", "d1", "d1", "d1"));
  EXPECT_TRUE(ledger_.state().has_seen("m1", "2026"));
  EXPECT_TRUE(ledger_.state().outbox.empty());
}

TEST_F(DeliveryLoopTest, ATaskThatWasCancelledAfterItWasPutBackIsNotHandedOver) {
  handover_.answer({HandoverResult::What::not_taken, {}, {}});
  answers_ = {ApiClient::TaskView(), ApiClient::TaskView{ApiClient::TaskInterest::unwanted, "failed", "cancelled"}};
  auto& loop = start();
  loop.take(task(1, "d1"));
  loop.take(message(2, text("next")));
  EXPECT_EQ(handover_.wait_for(2).back().text, "next");
  end();
  EXPECT_EQ(handover_.skipped().size(), 1u);
}

TEST_F(DeliveryLoopTest, WhatWasBegunForATaskThatThenSeemedSilentIsFinished) {
  handover_.remember_a_run();
  answers_ = {ApiClient::TaskView{ApiClient::TaskInterest::late, "stuck", "silent"}};
  start().take(task(1, "d1"));
  EXPECT_EQ(handover_.wait_for(1).front().delegation_id, "d1");
}

TEST_F(DeliveryLoopTest, WhatWasGivenUpIsForgottenWithoutAWordToTheOneWhoGaveItUp) {
  handover_.answer({HandoverResult::What::dropped, {}, "the command was ended"});
  auto row = message(1, text("x"), "peer");
  row.request_body.find("params")->find("message")->find("metadata")->set("delegation_id", Json::string("d1"));
  auto& loop = start();
  loop.take(std::move(row));
  loop.take(message(2, text("next")));
  EXPECT_EQ(handover_.wait_for(2).back().text, "next");
  end();
  EXPECT_TRUE(ledger_.state().outbox.empty());
  EXPECT_FALSE(ledger_.has_begun("m1"));
}

TEST_F(DeliveryLoopTest, WhenNobodyReadsItStopsAndTheMessageStays) {
  handover_.answer({HandoverResult::What::closed, {}, "gone"});
  start().take(message(1, text("x")));
  closed_.get_future().wait();
  EXPECT_EQ(delivery_loop_->first_waiting(), 1);
  EXPECT_FALSE(ledger_.state().has_seen("m1", "2026"));
}

TEST_F(DeliveryLoopTest, AnExpectedResultIsTakenOutOfTurnAndOnce) {
  auto result = message(2, text("42"), "peer");
  result.method = "delegate_result";
  result.status = "ok";
  result.request_body.set("delegation_id", Json::string("d1"));
  auto& loop = start();
  loop.expect_result("d1");
  loop.take(result);
  loop.take(message(3, text("next")));
  EXPECT_EQ(handover_.wait_for(1).front().id, "m3");
  EXPECT_FALSE(loop.wait_for_result("d2", std::chrono::milliseconds(0)));
  const auto row = loop.wait_for_result("d1", std::chrono::seconds(60));
  ASSERT_TRUE(row);
  const auto delivery = loop.begin_result(*row);
  EXPECT_THAT(std::tie(delivery.type, delivery.delegation_id, delivery.status, delivery.text),
              testing::FieldsAre("result", "d1", "ok", "42"));
  EXPECT_FALSE(delivery.again);
  EXPECT_TRUE(ledger_.has_begun("m2"));
  loop.end_result(delivery);
  EXPECT_TRUE(ledger_.state().has_seen("m2", "2026"));
  loop.stop_expecting("d1");
  loop.take(message(4, text("last")));
  const auto seen = handover_.wait_for(2);
  EXPECT_THAT((std::vector{seen[0].id, seen[1].id}), ElementsAre("m3", "m4"));
}

TEST_F(DeliveryLoopTest, AResultThatNobodyExpectsAnyMoreGoesInItsTurn) {
  auto result = message(1, text("42"), "peer");
  result.method = "delegate_result";
  result.request_body.set("delegation_id", Json::string("d1"));
  auto& loop = start();
  loop.expect_result("d1");
  loop.take(result);
  ASSERT_TRUE(loop.wait_for_result("d1", std::chrono::seconds(60)));
  loop.stop_expecting("d1");
  EXPECT_EQ(handover_.wait_for(1).front().delegation_id, "d1");
}

TEST_F(DeliveryLoopTest, AnExpectedResultWaitsForItsFiles) {
  announce(Where::waiting);
  auto result = message(1, text("42") + "," + file(), "peer");
  result.method = "delegate_result";
  result.request_body.set("delegation_id", Json::string("d1"));
  auto& loop = start();
  loop.expect_result("d1");
  loop.take(result);
  EXPECT_FALSE(loop.wait_for_result("d1", std::chrono::milliseconds(0)));
  learn(Where::landed);
  loop.take(kFile);
  const auto row = loop.wait_for_result("d1", std::chrono::seconds(60));
  ASSERT_TRUE(row);
  EXPECT_EQ(loop.begin_result(*row).files.front().state, "landed");
}

}  // namespace
}  // namespace restante::agent
