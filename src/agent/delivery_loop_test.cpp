#include "agent/delivery_loop.h"

#include <gmock/gmock.h>

#include <future>

#include "base/test_folder.h"

namespace restante::agent {
namespace {

using testing::ElementsAre;
using Where = FileRecord::Where;

const FileId kFile = FileId::parse("22222222-2222-7222-8222-222222222222").value();
const std::string kUri = "platform-pending:11111111-1111-7111-8111-111111111111/" + kFile.text();

// Records the deliveries and returns the prepared results.
class RecordingHandover final : public Handover {
 public:
  HandoverResult deliver(const Delivery& delivery) override {
    const std::lock_guard lock(mutex_);
    seen_.push_back(delivery);
    changed_.notify_all();
    if (results_.empty()) return {};
    auto result = results_.front();
    results_.pop_front();
    return result;
  }
  HandoverResult skip_ended(const Delivery& ended) override {
    skipped_.push_back(ended);
    return Handover::skip_ended(ended);
  }
  bool wait_for_receiver() override {
    has_receiver_ = true;
    return true;
  }
  bool has_receiver() const override { return has_receiver_; }
  bool has_begun(const Delivery&) const override { return begun_before_; }
  bool returns_when_done() const override { return returns_when_done_; }
  void return_at_once() { returns_when_done_ = false; }
  void leave() { has_receiver_ = false; }  // until wait_for_receiver()
  void set_begun_before() { begun_before_ = true; }
  const std::vector<Delivery>& skipped() const { return skipped_; }  // after the loop has ended
  void answer(HandoverResult result) { results_.push_back(std::move(result)); }
  std::vector<Delivery> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return seen_.size() >= count; }));
    return seen_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Delivery> seen_;
  std::deque<HandoverResult> results_;
  std::vector<Delivery> skipped_;
  bool returns_when_done_ = true;
  bool begun_before_ = false;
  bool has_receiver_ = true;
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
        [this](const Delivery& message) -> client::Outcome<ApiClient::TaskView> {
          asked_.push_back(message.delegation_id);
          if (asked_.size() <= leave_count_) handover_.leave();
          if (asked_.size() == 1) first_asked_.set_value();
          if (answers_.empty()) return ApiClient::TaskView();
          auto answer = answers_.front();
          answers_.pop_front();
          return answer;
        },
        [this](const std::string& delegation, std::optional<std::chrono::milliseconds>) {
          tasks_.push_back(delegation);
        },
        [this](std::string_view line) { printed_.emplace_back(line); });
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
  static ReceivedRow result_of(const std::string& delegation, std::int64_t seq, const std::string& parts) {
    auto row = message(seq, parts, "peer");
    row.method = "delegate_result";
    row.status = "ok";
    row.request_body.set("delegation_id", Json::string(delegation));
    return row;
  }
  // Gives the loop a task, then a message, and ends it once the message was handed over, as the delivery with this
  // number.
  void take_task_and_next(std::size_t number) {
    auto& loop = start();
    loop.take(task(1, "d1"));
    loop.take(message(2, text("next")));
    EXPECT_EQ(handover_.wait_for(number)[number - 1].text, "next");
    end();
  }
  static std::pair<std::string, std::string> type_and_file_state(const Delivery& delivery) {
    return {delivery.type, delivery.files.at(0).state};
  }
  static client::Failure status(int status) {
    client::Failure failure(client::Failure::Kind::status, "status " + std::to_string(status));
    failure.status = status;
    return failure;
  }
  static std::string text(const std::string& content) { return R"({"kind":"text","text":")" + content + R"("})"; }
  static std::string file() { return R"({"kind":"file","file":{"uri":")" + kUri + R"(","name":"a"}})"; }
  void announce(Where where, std::string trouble = "", std::string reason = "") {
    FileRecord record;
    record.announced = {kFile, "a.txt", 5, ""};
    record.uri = kUri;
    record.row_id = "row";
    ledger_.announce(record);
    update_file(where, std::move(trouble), std::move(reason));
  }
  void update_file(Where where, std::string trouble = "", std::string reason = "") {
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
  std::vector<std::string> printed_;
  std::deque<client::Outcome<ApiClient::TaskView>> answers_;  // of the server about a task; when empty: wanted
  std::vector<std::string> asked_;
  std::size_t leave_count_ = 0;  // how often the receiver leaves while the server is asked
  std::promise<void> first_asked_;
  std::vector<std::string> tasks_;  // arguments of the task observer; empty: none in progress
  std::vector<std::monostate> ended_;
  std::promise<void> closed_;
  std::unique_ptr<DeliveryLoop> delivery_loop_;
};

TEST_F(DeliveryLoopTest, MessagesAreHandedOverInOrderAndEachEndIsRecorded) {
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

TEST_F(DeliveryLoopTest, AMessageWaitsForAFileThatIsStillDownloaded) {
  announce(Where::waiting);
  auto& loop = start();
  loop.take(message(1, text("look") + "," + file()));
  EXPECT_EQ(loop.first_waiting(), "m1");
  update_file(Where::landed);
  loop.take(kFile);
  EXPECT_THAT(type_and_file_state(handover_.wait_for(1)[0]), testing::Pair("message", "landed"));
  end();
  EXPECT_TRUE(ledger_.file(kFile)->handed_over);
}

TEST_F(DeliveryLoopTest, AMessageDoesNotWaitForEverAndTheFileIsHandedOverAloneLater) {
  options_.file_patience = std::chrono::milliseconds(1);
  announce(Where::waiting, "missing");
  auto& loop = start();
  loop.take(message(1, text("look") + "," + file()));
  EXPECT_EQ(handover_.wait_for(1)[0].files[0].state, "missing");
  update_file(Where::landed);
  loop.take(kFile);
  const auto seen = handover_.wait_for(2);
  EXPECT_EQ(seen[1].type, "file");
  EXPECT_EQ(seen[1].files[0].path, "/p");
}

TEST_F(DeliveryLoopTest, AFileThatCannotBeStoredIsReportedOnceAndBlocksNoMessage) {
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

TEST_F(DeliveryLoopTest, AFileThatNoMessageNamesIsReportedAloneAlsoWhenItHasExpired) {
  announce(Where::gone, "expired");
  auto& loop = start();
  loop.take(kFile);
  EXPECT_THAT(type_and_file_state(handover_.wait_for(1)[0]), testing::Pair("file", "expired"));
  end();
  EXPECT_TRUE(ledger_.file(kFile)->notified);
}

TEST_F(DeliveryLoopTest, AFailureIsTriedAgainMarkedAsAgainAndThenReportedToTheSender) {
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

TEST_F(DeliveryLoopTest, APeerThatSendsNoHopsIsStillCountedAfterARestart) {
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
  start().take(task(1, "d1"));
  handover_.wait_for(1);
  end();
  const auto outbox = ledger_.state().outbox;
  ASSERT_EQ(outbox.size(), 1u);
  EXPECT_EQ(outbox[0].to, Reply::To::delegation);
  EXPECT_EQ(outbox[0].target, "d1");
  EXPECT_EQ(tasks_, (std::vector<std::string>{"d1", ""}));
}

TEST_F(DeliveryLoopTest, ATaskThatIsOnlyHandedOnIsNotReportedAsInProgress) {
  handover_.return_at_once();
  start().take(task(1, "d1"));
  EXPECT_EQ(handover_.wait_for(1).front().delegation_id, "d1");
  end();
  EXPECT_TRUE(tasks_.empty()) << "it would have no heartbeats and become stuck";
}

TEST_F(DeliveryLoopTest, TheServerIsAskedOnlyAboutTasksBeforeEveryAttempt) {
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

TEST_F(DeliveryLoopTest, ATaskThatHasEndedIsNotBegunAndTheNextOneIs) {
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
  EXPECT_THAT(printed_, testing::Contains("task d1 is over and is not begun: cancelled by caller"));
  EXPECT_EQ(tasks_, (std::vector<std::string>{"d3", ""}));
  EXPECT_TRUE(ledger_.state().outbox.empty()) << "no caller waits for an answer";
  EXPECT_TRUE(ledger_.state().has_seen("m1", "2026"));
}

TEST_F(DeliveryLoopTest, ATaskThatWasCancelledBetweenTwoAttemptsIsNotTriedAgain) {
  answers_ = {ApiClient::TaskView(),
              ApiClient::TaskView{ApiClient::TaskInterest::unwanted, "failed", "cancelled by caller"}};
  handover_.answer({HandoverResult::What::failed, {}, "no"});
  take_task_and_next(2);
  EXPECT_EQ(handover_.skipped().size(), 1u);
  EXPECT_TRUE(ledger_.state().outbox.empty());
}

TEST_F(DeliveryLoopTest, ATaskIsNotBegunBeforeTheServerHasAnsweredThatItIsWanted) {
  using client::Failure;
  answers_ = {Failure(Failure::Kind::unreachable, "refused"), Failure(Failure::Kind::cut, "cut"),
              ApiClient::TaskView()};
  start().take(task(1, "d1"));
  const auto seen = handover_.wait_for(1);
  EXPECT_FALSE(seen[0].again) << "nothing was begun";
  end();
  EXPECT_THAT(asked_, ElementsAre("d1", "d1", "d1"));
  EXPECT_THAT(printed_, ElementsAre("task d1 waits until the server answers whether it is still wanted: refused",
                                    "task d1 from agent peer: handled, without an answer"));
}

TEST_F(DeliveryLoopTest, ATaskIsKeptWhenTheServerNeverAnswers) {
  using client::Failure;
  options_.pause_first = options_.pause_most = std::chrono::hours(1);
  answers_ = {Failure(Failure::Kind::unreachable, "refused")};
  auto& loop = start();
  loop.take(task(1, "d1"));
  first_asked_.get_future().wait();
  end();
  EXPECT_EQ(loop.first_waiting(), "m1");
  EXPECT_FALSE(ledger_.state().has_seen("m1", "2026"));
  EXPECT_FALSE(ledger_.has_begun("m1"));
}

TEST_F(DeliveryLoopTest, AMessageThatTheServerDoesNotConfirmAsATaskIsHandedOverAndAnsweredLikeAnyMessage) {
  options_.agents = DeliveryOptions::Agents::answered;
  answers_ = {ApiClient::TaskView{ApiClient::TaskInterest::not_a_task, {}, {}}, status(404), status(501)};
  for (int n = 1; n <= 3; ++n) handover_.answer({HandoverResult::What::handled, "a secret", {}});
  auto& loop = start();
  for (int n = 1; n <= 3; ++n) loop.take(task(n, "d" + std::to_string(n)));
  for (const auto& delivery : handover_.wait_for(3)) {
    EXPECT_THAT(std::tie(delivery.type, delivery.text, delivery.delegation_id),
                testing::FieldsAre("message", "do it", ""));
    EXPECT_EQ(delivery.json().find("delegation_id"), std::string::npos) << "not in its body either";
  }
  end();
  EXPECT_THAT(asked_, ElementsAre("d1", "d2", "d3"));
  EXPECT_TRUE(tasks_.empty());
  ASSERT_EQ(ledger_.state().outbox.size(), 3u);
  for (const auto& reply : ledger_.state().outbox) EXPECT_EQ(reply.to, Reply::To::agent) << "never a task's result";
  EXPECT_THAT(printed_, testing::Contains(testing::HasSubstr("names task d1, which the server did not give")));
}

TEST_F(DeliveryLoopTest, AFailedMessageThatOnlyClaimedToBeATaskFailsNoTask) {
  options_.attempts = 2;
  answers_ = {ApiClient::TaskView{ApiClient::TaskInterest::not_a_task, {}, {}}};
  for (int n = 0; n < 2; ++n) handover_.answer({HandoverResult::What::failed, {}, "no"});
  take_task_and_next(3);
  EXPECT_THAT(asked_, ElementsAre("d1"));
  EXPECT_TRUE(ledger_.state().outbox.empty());
}

TEST_F(DeliveryLoopTest, TheSignInPageOfANetworkIsNotAnAnswerOfTheServer) {
  answers_ = {status(302), status(307), ApiClient::TaskView{ApiClient::TaskInterest::unwanted, "failed", "cancelled"}};
  take_task_and_next(1);
  EXPECT_EQ(handover_.skipped().size(), 1u);
}

TEST_F(DeliveryLoopTest, WhenTheReceiverLeavesWhileTheServerIsAskedItIsAskedAgainForTheNext) {
  leave_count_ = 1;
  answers_ = {ApiClient::TaskView(), ApiClient::TaskView{ApiClient::TaskInterest::unwanted, "failed", "cancelled"}};
  take_task_and_next(1);
  EXPECT_THAT(asked_, ElementsAre("d1", "d1"));
  ASSERT_EQ(handover_.skipped().size(), 1u);
  EXPECT_FALSE(handover_.skipped().front().again) << "nothing was begun";
}

TEST_F(DeliveryLoopTest, ForATaskThatWasPutBackTheServerIsAskedAgainAndNoAttemptCounts) {
  options_.attempts = 2;
  for (int n = 0; n < 3; ++n) handover_.answer({HandoverResult::What::not_taken, {}, {}});
  auto& loop = start();
  loop.take(task(1, "d1"));
  const auto seen = handover_.wait_for(4);
  EXPECT_FALSE(seen.back().again) << "no receiver has it";
  end();
  EXPECT_THAT(asked_, ElementsAre("d1", "d1", "d1", "d1"));
  EXPECT_TRUE(ledger_.state().has_seen("m1", "2026"));
  EXPECT_TRUE(ledger_.state().outbox.empty());
}

TEST_F(DeliveryLoopTest, ATaskThatWasCancelledAfterItWasPutBackIsNotHandedOver) {
  handover_.answer({HandoverResult::What::not_taken, {}, {}});
  answers_ = {ApiClient::TaskView(), ApiClient::TaskView{ApiClient::TaskInterest::unwanted, "failed", "cancelled"}};
  take_task_and_next(2);
  EXPECT_EQ(handover_.skipped().size(), 1u);
}

TEST_F(DeliveryLoopTest, ABegunTaskThatWasGivenUpAsSilentIsFinished) {
  handover_.set_begun_before();
  answers_ = {ApiClient::TaskView{ApiClient::TaskInterest::late, "stuck", "silent"}};
  start().take(task(1, "d1"));
  EXPECT_EQ(handover_.wait_for(1).front().delegation_id, "d1");
}

TEST_F(DeliveryLoopTest, ATaskThatWasGivenUpIsForgottenWithoutAReply) {
  handover_.answer({HandoverResult::What::dropped, {}, "the command was ended"});
  take_task_and_next(2);
  EXPECT_TRUE(ledger_.state().outbox.empty());
  EXPECT_FALSE(ledger_.has_begun("m1"));
}

TEST_F(DeliveryLoopTest, WhenTheReaderHasClosedTheLoopStopsAndTheMessageStays) {
  handover_.answer({HandoverResult::What::closed, {}, "gone"});
  start().take(message(1, text("x")));
  closed_.get_future().wait();
  EXPECT_EQ(delivery_loop_->first_waiting(), "m1");
  EXPECT_FALSE(ledger_.state().has_seen("m1", "2026"));
}

TEST_F(DeliveryLoopTest, AnExpectedResultIsTakenByItsCallerOnceAndNotByTheLoop) {
  auto& loop = start();
  loop.expect_result("d1");
  loop.take(result_of("d1", 2, text("42")));
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

TEST_F(DeliveryLoopTest, AResultThatIsNoLongerExpectedIsHandedOverByTheLoop) {
  auto& loop = start();
  loop.expect_result("d1");
  loop.take(result_of("d1", 1, text("42")));
  ASSERT_TRUE(loop.wait_for_result("d1", std::chrono::seconds(60)));
  loop.stop_expecting("d1");
  EXPECT_EQ(handover_.wait_for(1).front().delegation_id, "d1");
}

TEST_F(DeliveryLoopTest, AFileThatWasHandedOverWithItsMessageDoesNotWaitAnyMore) {
  options_.file_grace = std::chrono::hours(1);
  announce(Where::landed);
  auto& loop = start();
  loop.take(kFile);
  EXPECT_THAT(loop.waiting_files(), ElementsAre(kFile));
  loop.take(message(1, text("look") + "," + file()));
  handover_.wait_for(1);
  end();
  EXPECT_THAT(loop.waiting_files(), testing::IsEmpty());
}

TEST_F(DeliveryLoopTest, TheFileOfAnExpectedResultDoesNotWaitAlone) {
  announce(Where::landed);
  auto& loop = start();
  loop.expect_result("d1");
  loop.take(result_of("d1", 1, text("42") + "," + file()));
  loop.take(kFile);
  EXPECT_THAT(loop.waiting_files(), testing::IsEmpty());
}

TEST_F(DeliveryLoopTest, AnExpectedResultWaitsForItsFiles) {
  announce(Where::waiting);
  auto& loop = start();
  loop.expect_result("d1");
  loop.take(result_of("d1", 1, text("42") + "," + file()));
  EXPECT_FALSE(loop.wait_for_result("d1", std::chrono::milliseconds(0)));
  update_file(Where::landed);
  loop.take(kFile);
  const auto row = loop.wait_for_result("d1", std::chrono::seconds(60));
  ASSERT_TRUE(row);
  EXPECT_EQ(loop.begin_result(*row).files.front().state, "landed");
}

}  // namespace
}  // namespace restante::agent
