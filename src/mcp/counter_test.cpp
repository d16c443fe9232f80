#include "mcp/counter.h"

#include <gmock/gmock.h>

#include <future>

namespace restante::mcp {
namespace {

using namespace std::chrono_literals;
using agent::Verdict;
using Fate = Counter::Fate;

class CounterTest : public testing::Test {
 protected:
  static agent::Delivery message(std::string id) {
    agent::Delivery delivery;
    delivery.id = std::move(id);
    return delivery;
  }
  // As the porter does.
  std::future<Verdict> bring(std::string id) {
    return std::async(std::launch::async, [this, id] {
      while (counter_.await_taker()) {
        auto verdict = counter_.deliver(message(id));
        if (verdict.what != Verdict::What::untaken) return verdict;
        ++untaken_;
      }
      return Verdict{Verdict::What::stopped, {}, {}};
    });
  }

  agent::Stop stop_;
  int untaken_ = 0;  // read once it was brought
  Counter counter_{stop_};
  Call call_;
};

TEST_F(CounterTest, ADeliveryIsHandledOnceItsAnswerWasWritten) {
  auto brought = bring("a");
  const auto taken = counter_.take(call_, 60s);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->delivery().id, "a");
  EXPECT_EQ(counter_.in_hand(), "a");
  EXPECT_EQ(brought.wait_for(0s), std::future_status::timeout);
  taken->finish(Fate::written);
  EXPECT_EQ(brought.get().what, Verdict::What::handled);
}

TEST_F(CounterTest, WhatIsPutBackOrDroppedGoesToTheNextTaker) {
  auto brought = bring("a");
  counter_.take(call_, 60s)->finish(Fate::put_back);
  counter_.take(call_, 60s).reset();
  const auto taken = counter_.take(call_, 60s);
  EXPECT_EQ(taken->delivery().id, "a");
  taken->finish(Fate::written);
  taken->finish(Fate::put_back);  // too late
  EXPECT_EQ(brought.get().what, Verdict::What::handled);
  EXPECT_GE(untaken_, 2) << "who brings it can ask each time whether it is still wanted";
}

TEST_F(CounterTest, WhatNobodyIsThereForIsNotKeptForWhoeverComes) {
  EXPECT_FALSE(counter_.has_taker());
  EXPECT_EQ(counter_.deliver(message("a")).what, Verdict::What::untaken);
  EXPECT_EQ(counter_.in_hand(), "");
  EXPECT_FALSE(counter_.take(call_, 0s));
}

TEST_F(CounterTest, ATakerThatGivesUpOrIsCancelledLeavesNothingBehind) {
  EXPECT_FALSE(counter_.take(call_, 0s));
  Call cancelled;
  auto waiting = std::async(std::launch::async, [&] { return counter_.take(cancelled, 600s); });
  cancelled.cancel();
  EXPECT_FALSE(waiting.get());
  auto brought = bring("a");
  counter_.take(call_, 60s)->finish(Fate::written);
  EXPECT_EQ(brought.get().what, Verdict::What::handled);
}

TEST_F(CounterTest, WhenItIsClosedNobodyWaitsAnyMore) {
  auto brought = bring("a");
  counter_.close();
  EXPECT_EQ(brought.get().what, Verdict::What::stopped);
  EXPECT_FALSE(counter_.take(call_, 600s));
  EXPECT_TRUE(counter_.closed());
}

TEST(CallTest, ACancellationRunsWhatWaitsForItOnceAtOnceOrLater) {
  Call call;
  int ends = 0;
  call.when_cancelled([&] { ++ends; });
  call.cancel();
  call.cancel();
  EXPECT_EQ(ends, 1);
  call.when_cancelled([&] { ++ends; });
  EXPECT_EQ(ends, 2);
  EXPECT_TRUE(call.cancelled());
}

TEST(CallTest, ProgressOnlyGoesForwardAndTheEndIsAlwaysTold) {
  std::vector<double> told;
  Call call([&](double done, double, std::string_view) { told.push_back(done); });
  call.progress(1, 10, "");
  call.progress(1, 10, "");
  call.progress(0, 10, "");
  call.progress(10, 10, "");
  call.cancel();
  call.progress(11, 11, "");
  EXPECT_THAT(told, testing::ElementsAre(1, 10));
}

TEST(CallTest, TheNextStageGoesOnWhereTheLastEnded) {
  std::vector<std::pair<double, double>> told;
  Call call([&](double done, double total, std::string_view) { told.emplace_back(done, total); });
  call.progress(500, 500, "");
  call.next_stage();
  call.progress(10, 10, "");
  EXPECT_THAT(told, testing::ElementsAre(testing::Pair(500, 500), testing::Pair(510, 510)));
}

}  // namespace
}  // namespace restante::mcp
