#include "agent/porter.h"

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
class Notebook final : public Handover {
 public:
  Verdict deliver(const Delivery& delivery) override {
    const std::lock_guard lock(mutex_);
    seen_.push_back(delivery);
    changed_.notify_all();
    if (verdicts_.empty()) return {};
    auto verdict = verdicts_.front();
    verdicts_.pop_front();
    return verdict;
  }
  bool works() const override { return works_; }
  void only_take() { works_ = false; }
  void answer(Verdict verdict) { verdicts_.push_back(std::move(verdict)); }
  std::vector<Delivery> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(60), [&] { return seen_.size() >= count; }));
    return seen_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Delivery> seen_;
  std::deque<Verdict> verdicts_;
  bool works_ = true;
};

class PorterTest : public testing::Test {
 protected:
  PorterTest() {
    options_.file_grace = std::chrono::milliseconds(0);
    options_.pause_first = options_.pause_most = std::chrono::milliseconds(1);
  }
  ~PorterTest() override { end(); }

  Porter& start() {
    porter_ = std::make_unique<Porter>(
        options_, ledger_, notebook_, stop_, [this] { ended_.push_back({}); }, [this] { closed_.set_value(); },
        [this](const std::string& delegation) { tasks_.push_back(delegation); },
        [this](std::string_view said) { said_.emplace_back(said); });
    porter_->start();
    return *porter_;
  }
  void end() {
    stop_.request();
    if (porter_) porter_->join();
  }
  static Row message(std::int64_t seq, const std::string& parts, std::optional<std::string> source = {}, int hops = 0) {
    Row row;
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
  static std::string text(const std::string& said) { return R"({"kind":"text","text":")" + said + R"("})"; }
  static std::string file() { return R"({"kind":"file","file":{"uri":")" + kUri + R"(","name":"a"}})"; }
  void announce(Where where, std::string trouble = "", std::string reason = "") {
    FileRecord record;
    record.parcel = {kFile, "a.txt", 5, ""};
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
    ledger_.came(record);
  }

  TestFolder folder_;
  Stop stop_;
  Ledger ledger_{Home::open(folder_.path()).value(), State(), [](std::string_view) {}};
  Notebook notebook_;
  PorterOptions options_;
  std::vector<std::string> said_;
  std::vector<std::string> tasks_;  // as they came into the agent's hands and left them
  std::vector<std::monostate> ended_;
  std::promise<void> closed_;
  std::unique_ptr<Porter> porter_;
};

TEST_F(PorterTest, MessagesGoInOrderAndEachEndIsWrittenDown) {
  notebook_.answer({Verdict::What::handled, "one", {}});
  auto& porter = start();
  for (int n = 1; n <= 3; ++n) porter.take(message(n, text(std::to_string(n))));
  const auto seen = notebook_.wait_for(3);
  EXPECT_THAT((std::vector{seen[0].text, seen[1].text, seen[2].text}), ElementsAre("1", "2", "3"));
  end();
  const auto state = ledger_.state();
  EXPECT_TRUE(state.has_seen("m1", "2026"));
  ASSERT_EQ(state.outbox.size(), 1u);
  EXPECT_EQ(state.outbox[0].key, "reply-m1");
}

TEST_F(PorterTest, AMessageWaitsForAFileThatIsOnItsWay) {
  announce(Where::waiting);
  auto& porter = start();
  porter.take(message(1, text("look") + "," + file()));
  EXPECT_EQ(porter.first_waiting(), 1);
  learn(Where::landed);
  porter.take(kFile);
  const auto seen = notebook_.wait_for(1);
  EXPECT_EQ(seen[0].type, "message");
  EXPECT_EQ(seen[0].files[0].state, "landed");
  end();
  EXPECT_TRUE(ledger_.file(kFile)->handed_over);
}

TEST_F(PorterTest, AMessageDoesNotWaitForEverAndTheFileComesAloneLater) {
  options_.file_patience = std::chrono::milliseconds(1);
  announce(Where::waiting, "missing");
  auto& porter = start();
  porter.take(message(1, text("look") + "," + file()));
  EXPECT_EQ(notebook_.wait_for(1)[0].files[0].state, "missing");
  learn(Where::landed);
  porter.take(kFile);
  const auto seen = notebook_.wait_for(2);
  EXPECT_EQ(seen[1].type, "file");
  EXPECT_EQ(seen[1].files[0].path, "/p");
}

TEST_F(PorterTest, AFileThatCannotBeTakenIsToldOnceAndHoldsUpNobody) {
  announce(Where::waiting, "failed", "no room");
  auto& porter = start();
  porter.take(message(1, text("look") + "," + file()));
  const auto seen = notebook_.wait_for(1);
  EXPECT_EQ(seen[0].files[0].state, "failed");
  EXPECT_EQ(seen[0].files[0].reason, "no room");
  porter.take(kFile);
  porter.take(message(2, text("next")));
  EXPECT_EQ(notebook_.wait_for(2)[1].text, "next");
}

TEST_F(PorterTest, AFileThatNobodyNamesIsToldAloneAlsoWhenItCannotBeTaken) {
  announce(Where::gone, "expired");
  auto& porter = start();
  porter.take(kFile);
  const auto seen = notebook_.wait_for(1);
  EXPECT_EQ(seen[0].type, "file");
  EXPECT_EQ(seen[0].files[0].state, "expired");
  end();
  EXPECT_TRUE(ledger_.file(kFile)->told);
}

TEST_F(PorterTest, AFailureIsTriedAgainAsSuchAndThenApologisedFor) {
  options_.attempts = 3;
  for (int n = 0; n < 3; ++n) notebook_.answer({Verdict::What::failed, {}, "no"});
  auto& porter = start();
  porter.take(message(1, text("poison")));
  porter.take(message(2, text("next")));
  const auto seen = notebook_.wait_for(4);
  EXPECT_FALSE(seen[0].again);
  EXPECT_TRUE(seen[2].again);
  EXPECT_EQ(seen[3].text, "next");
  end();
  EXPECT_EQ(ledger_.state().outbox.at(0).key, "failed-m1");
}

TEST_F(PorterTest, AnotherAgentIsAnsweredOnlyWhenAskedToAndNotForEver) {
  options_.agents = PorterOptions::Agents::answered;
  for (int n = 0; n < 2; ++n) notebook_.answer({Verdict::What::handled, "hello", {}});
  auto& porter = start();
  porter.take(message(1, text("x"), "peer", 7));
  porter.take(message(2, text("x"), "peer", 8));
  notebook_.wait_for(2);
  end();
  const auto outbox = ledger_.state().outbox;
  ASSERT_EQ(outbox.size(), 1u);
  EXPECT_EQ(outbox[0].to, Reply::To::agent);
  EXPECT_EQ(outbox[0].target, "peer");
  EXPECT_EQ(outbox[0].hops, 8);
}

TEST_F(PorterTest, APeerThatDoesNotCountIsStillCountedAfterARestart) {
  options_.agents = PorterOptions::Agents::answered;
  for (int n = 0; n < 9; ++n) notebook_.answer({Verdict::What::handled, "hello", {}});
  auto& porter = start();
  for (int n = 1; n <= 9; ++n) porter.take(message(n, text("x"), "peer"));
  notebook_.wait_for(9);
  end();
  EXPECT_EQ(ledger_.state().outbox.size(), 8u);
  const auto known = State::parse(ledger_.state().dump()).value();
  EXPECT_EQ(known.answered.size(), 8u);
  EXPECT_EQ(next_hop(known.answered, "peer", 0, known.answered.back().created_at), std::nullopt);
}

TEST_F(PorterTest, AnAnswerToATaskIsItsResult) {
  notebook_.answer({Verdict::What::handled, "done", {}});
  auto row = message(1, text("x"), "peer");
  row.request_body.find("params")->find("message")->find("metadata")->set("delegation_id", Json::string("d1"));
  start().take(std::move(row));
  notebook_.wait_for(1);
  end();
  const auto outbox = ledger_.state().outbox;
  ASSERT_EQ(outbox.size(), 1u);
  EXPECT_EQ(outbox[0].to, Reply::To::delegation);
  EXPECT_EQ(outbox[0].target, "d1");
  EXPECT_EQ(tasks_, (std::vector<std::string>{"d1", ""}));
}

TEST_F(PorterTest, ATaskThatIsOnlyHandedOnIsNotSaidToBeWorkedOn) {
  notebook_.only_take();
  auto row = message(1, text("x"), "peer");
  row.request_body.find("params")->find("message")->find("metadata")->set("delegation_id", Json::string("d1"));
  start().take(std::move(row));
  EXPECT_EQ(notebook_.wait_for(1).front().delegation_id, "d1");
  end();
  EXPECT_TRUE(tasks_.empty()) << "nobody would beat for it, and it would be called stuck";
}

TEST_F(PorterTest, WhatWasGivenUpIsForgottenWithoutAWordToTheOneWhoGaveItUp) {
  notebook_.answer({Verdict::What::dropped, {}, "the command was ended"});
  auto row = message(1, text("x"), "peer");
  row.request_body.find("params")->find("message")->find("metadata")->set("delegation_id", Json::string("d1"));
  auto& porter = start();
  porter.take(std::move(row));
  porter.take(message(2, text("next")));
  EXPECT_EQ(notebook_.wait_for(2).back().text, "next");
  end();
  EXPECT_TRUE(ledger_.state().outbox.empty());
  EXPECT_FALSE(ledger_.has_begun("m1"));
}

TEST_F(PorterTest, WhenNobodyReadsItStopsAndTheMessageStays) {
  notebook_.answer({Verdict::What::closed, {}, "gone"});
  start().take(message(1, text("x")));
  closed_.get_future().wait();
  EXPECT_EQ(porter_->first_waiting(), 1);
  EXPECT_FALSE(ledger_.state().has_seen("m1", "2026"));
}

TEST_F(PorterTest, AnExpectedResultIsTakenOutOfTurnAndOnce) {
  auto result = message(2, text("42"), "peer");
  result.method = "delegate_result";
  result.status = "ok";
  result.request_body.set("delegation_id", Json::string("d1"));
  auto& porter = start();
  porter.expect_result("d1");
  porter.take(result);
  porter.take(message(3, text("next")));
  EXPECT_EQ(notebook_.wait_for(1).front().id, "m3");
  EXPECT_FALSE(porter.wait_for_result("d2", std::chrono::milliseconds(0)));
  const auto row = porter.wait_for_result("d1", std::chrono::seconds(60));
  ASSERT_TRUE(row);
  const auto delivery = porter.begin_result(*row);
  EXPECT_THAT(std::tie(delivery.type, delivery.delegation_id, delivery.status, delivery.text),
              testing::FieldsAre("result", "d1", "ok", "42"));
  EXPECT_FALSE(delivery.again);
  EXPECT_TRUE(ledger_.has_begun("m2"));
  porter.end_result(delivery);
  EXPECT_TRUE(ledger_.state().has_seen("m2", "2026"));
  porter.expect_no_more("d1");
  porter.take(message(4, text("last")));
  const auto seen = notebook_.wait_for(2);
  EXPECT_THAT((std::vector{seen[0].id, seen[1].id}), ElementsAre("m3", "m4"));
}

TEST_F(PorterTest, AResultThatNobodyExpectsAnyMoreGoesInItsTurn) {
  auto result = message(1, text("42"), "peer");
  result.method = "delegate_result";
  result.request_body.set("delegation_id", Json::string("d1"));
  auto& porter = start();
  porter.expect_result("d1");
  porter.take(result);
  ASSERT_TRUE(porter.wait_for_result("d1", std::chrono::seconds(60)));
  porter.expect_no_more("d1");
  EXPECT_EQ(notebook_.wait_for(1).front().delegation_id, "d1");
}

TEST_F(PorterTest, AnExpectedResultWaitsForItsFiles) {
  announce(Where::waiting);
  auto result = message(1, text("42") + "," + file(), "peer");
  result.method = "delegate_result";
  result.request_body.set("delegation_id", Json::string("d1"));
  auto& porter = start();
  porter.expect_result("d1");
  porter.take(result);
  EXPECT_FALSE(porter.wait_for_result("d1", std::chrono::milliseconds(0)));
  learn(Where::landed);
  porter.take(kFile);
  const auto row = porter.wait_for_result("d1", std::chrono::seconds(60));
  ASSERT_TRUE(row);
  EXPECT_EQ(porter.begin_result(*row).files.front().state, "landed");
}

}  // namespace
}  // namespace restante::agent
