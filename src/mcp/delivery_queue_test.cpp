#include "mcp/delivery_queue.h"

#include <gmock/gmock.h>

#include <future>

namespace restante::mcp {
namespace {

using namespace std::chrono_literals;
using agent::HandoverResult;
using DeliveryOutcome = DeliveryQueue::DeliveryOutcome;

class DeliveryQueueTest : public testing::Test {
 protected:
  static agent::Delivery message(std::string id) {
    agent::Delivery delivery;
    delivery.id = std::move(id);
    return delivery;
  }
  // As the delivery loop does.
  std::future<HandoverResult> deliver(std::string id) {
    return std::async(std::launch::async, [this, id] {
      while (delivery_queue_.wait_for_receiver()) {
        auto result = delivery_queue_.deliver(message(id));
        if (result.what != HandoverResult::What::not_taken) return result;
        ++not_taken_;
      }
      return HandoverResult{HandoverResult::What::stopped, {}, {}};
    });
  }

  agent::Stop stop_;
  int not_taken_ = 0;  // read after it was delivered
  DeliveryQueue delivery_queue_{stop_};
  Call call_;
};

TEST_F(DeliveryQueueTest, ADeliveryIsHandledOnceItsAnswerWasWritten) {
  auto delivered = deliver("a");
  const auto taken = delivery_queue_.take(call_, 60s);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->delivery().id, "a");
  EXPECT_EQ(delivery_queue_.current_delivery(), "a");
  EXPECT_EQ(delivered.wait_for(0s), std::future_status::timeout);
  taken->finish(DeliveryOutcome::written);
  EXPECT_EQ(delivered.get().what, HandoverResult::What::handled);
}

TEST_F(DeliveryQueueTest, ADeliveryThatIsPutBackOrDroppedGoesToTheNextCall) {
  auto delivered = deliver("a");
  delivery_queue_.take(call_, 60s)->finish(DeliveryOutcome::put_back);
  delivery_queue_.take(call_, 60s).reset();
  const auto taken = delivery_queue_.take(call_, 60s);
  EXPECT_EQ(taken->delivery().id, "a");
  taken->finish(DeliveryOutcome::written);
  taken->finish(DeliveryOutcome::put_back);  // too late
  EXPECT_EQ(delivered.get().what, HandoverResult::What::handled);
  EXPECT_GE(not_taken_, 2) << "the loop can ask each time whether it is still wanted";
}

TEST_F(DeliveryQueueTest, WithoutAWaitingCallTheQueueKeepsNoDelivery) {
  EXPECT_FALSE(delivery_queue_.has_receiver());
  EXPECT_EQ(delivery_queue_.deliver(message("a")).what, HandoverResult::What::not_taken);
  EXPECT_EQ(delivery_queue_.current_delivery(), "");
  EXPECT_FALSE(delivery_queue_.take(call_, 0s));
}

TEST_F(DeliveryQueueTest, ACallThatTimesOutOrIsCancelledNoLongerReceives) {
  EXPECT_FALSE(delivery_queue_.take(call_, 0s));
  Call cancelled;
  auto waiting = std::async(std::launch::async, [&] { return delivery_queue_.take(cancelled, 600s); });
  cancelled.cancel();
  EXPECT_FALSE(waiting.get());
  auto delivered = deliver("a");
  delivery_queue_.take(call_, 60s)->finish(DeliveryOutcome::written);
  EXPECT_EQ(delivered.get().what, HandoverResult::What::handled);
}

TEST_F(DeliveryQueueTest, ClosingTheQueueEndsEveryWait) {
  auto delivered = deliver("a");
  delivery_queue_.close();
  EXPECT_EQ(delivered.get().what, HandoverResult::What::stopped);
  EXPECT_FALSE(delivery_queue_.take(call_, 600s));
  EXPECT_TRUE(delivery_queue_.closed());
}

TEST(CallTest, ACancellationRunsItsFunctionOnceAtOnceOrLater) {
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

TEST(CallTest, ProgressOnlyGoesForwardAndTheEndIsAlwaysReported) {
  std::vector<double> reported;
  Call call([&](double done, double, std::string_view) { reported.push_back(done); });
  call.progress(1, 10, "");
  call.progress(1, 10, "");
  call.progress(0, 10, "");
  call.progress(10, 10, "");
  call.cancel();
  call.progress(11, 11, "");
  EXPECT_THAT(reported, testing::ElementsAre(1, 10));
}

TEST(CallTest, TheNextStageContinuesWhereTheLastEnded) {
  std::vector<std::pair<double, double>> reported;
  Call call([&](double done, double total, std::string_view) { reported.emplace_back(done, total); });
  call.progress(500, 500, "");
  call.next_stage();
  call.progress(10, 10, "");
  EXPECT_THAT(reported, testing::ElementsAre(testing::Pair(500, 500), testing::Pair(510, 510)));
}

}  // namespace
}  // namespace restante::mcp
