#include "net/waiters.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace restante::net {
namespace {

using std::chrono::steady_clock;
constexpr auto kCeiling = std::chrono::seconds(60);
constexpr auto kFar = std::chrono::minutes(30);

// One event loop on its own thread, like an I/O thread.
class WaitersTest : public ::testing::Test {
 protected:
  WaitersTest() : thread_([this] { loop_.run(); }) {}
  ~WaitersTest() override {
    work_.reset();
    thread_.join();
  }

  std::future<Wake> park(Waiters::Armed& armed, steady_clock::duration patience = kFar) {
    return asio::co_spawn(loop_, armed.waiter().park(steady_clock::now() + patience), asio::use_future);
  }
  static Wake result(std::future<Wake>& wake) {
    EXPECT_EQ(wake.wait_for(kCeiling), std::future_status::ready) << "never woken";
    return wake.get();
  }
  std::unique_ptr<Waiters::Armed> arm(std::vector<std::string> topics, std::string owner = "owner") {
    return waiters.arm(loop_.get_executor(), std::move(topics), std::move(owner));
  }
  // Returns once the loop has done everything that was posted before.
  void settle() { asio::post(loop_, asio::use_future).wait(); }

  Metrics metrics{BuildInfo{}};
  Waiters waiters{2, metrics};
  asio::io_context loop_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{loop_.get_executor()};
  std::thread thread_;
};

TEST_F(WaitersTest, ARingWakesTheRequestsOnThatTopicAndNoOthers) {
  const auto here = arm({"a", "b"}, "one");
  const auto there = arm({"c"}, "two");
  auto woken = park(*here);
  auto other = park(*there);
  settle();
  waiters.ring("b");
  EXPECT_EQ(result(woken), Wake::rung);
  settle();
  EXPECT_EQ(other.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  there->waiter().end();
  EXPECT_EQ(result(other), Wake::ended);
}

TEST_F(WaitersTest, ARingBeforeParkingIsNotLost) {
  const auto armed = arm({"a"});
  waiters.ring("a");
  settle();
  auto wake = park(*armed);
  EXPECT_EQ(result(wake), Wake::rung);
}

TEST_F(WaitersTest, OneRingIsOneWake) {
  const auto armed = arm({"a"});
  waiters.ring("a");
  waiters.ring("a");
  auto first = park(*armed);
  EXPECT_EQ(result(first), Wake::rung);
  auto second = park(*armed, std::chrono::milliseconds(1));
  EXPECT_EQ(result(second), Wake::time_up);
}

TEST_F(WaitersTest, AParkWhoseTimeIsOverDoesNotSleep) {
  const auto armed = arm({"a"});
  auto wake = park(*armed, -std::chrono::seconds(1));
  EXPECT_EQ(result(wake), Wake::time_up);
}

TEST_F(WaitersTest, TheTimeOfARingIsKnownAsSoonAsItWakes) {
  const auto armed = arm({"a"});
  const auto before = steady_clock::now();
  // On the loop's own thread, so that park() finds the ring without having slept.
  const auto look = [&]() -> asio::awaitable<steady_clock::time_point> {
    armed->waiter().ring();
    co_await armed->waiter().park(before + kFar);
    co_return armed->waiter().rung_at();
  };
  auto rung_at = asio::co_spawn(loop_, look, asio::use_future);
  EXPECT_GE(rung_at.get(), before);
}

TEST_F(WaitersTest, TheEndIsFinalAndWinsOverARing) {
  const auto armed = arm({"a"});
  waiters.ring("a");
  armed->waiter().end();
  for (int again = 0; again < 2; ++again) {
    auto wake = park(*armed);
    EXPECT_EQ(result(wake), Wake::ended);
  }
}

TEST_F(WaitersTest, OneMoreThanTheCapEndsTheOwnersOldestOnly) {
  const auto first = arm({"a"});
  const auto second = arm({"a"});
  const auto foreign = arm({"a"}, "another owner");
  auto first_wake = park(*first);
  auto second_wake = park(*second);
  auto foreign_wake = park(*foreign);
  const auto third = arm({"a"});
  EXPECT_EQ(result(first_wake), Wake::ended);
  const auto fourth = arm({"a"});
  EXPECT_EQ(result(second_wake), Wake::ended);
  settle();
  EXPECT_EQ(foreign_wake.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  waiters.ring("a");
  EXPECT_EQ(result(foreign_wake), Wake::rung);
}

TEST_F(WaitersTest, AReleasedRequestMakesRoomForTheNext) {
  const auto first = arm({"a"});
  arm({"a"}).reset();
  arm({"a"}).reset();
  auto wake = park(*first);
  const auto second = arm({"a"});
  waiters.ring("a");
  EXPECT_EQ(result(wake), Wake::rung);
}

TEST_F(WaitersTest, EndAllEndsWaitingAndLaterRequests) {
  const auto early = arm({"a"});
  auto early_wake = park(*early);
  waiters.end_all();
  EXPECT_EQ(result(early_wake), Wake::ended);
  const auto late = arm({"a"});
  auto late_wake = park(*late);
  EXPECT_EQ(result(late_wake), Wake::ended);
}

TEST_F(WaitersTest, RingAllWakesTheRequestsOnAllTopics) {
  const auto here = arm({"a"}, "one");
  const auto stream = arm({"b"}, "");
  auto woken = park(*here);
  auto too = park(*stream);
  settle();
  waiters.ring_all();
  EXPECT_EQ(result(woken), Wake::rung);
  EXPECT_EQ(result(too), Wake::rung);
}

TEST_F(WaitersTest, ReleasingEndsHeldPollsOnceAndLaterOnesWaitAgain) {
  const auto here = arm({"a"}, "one");
  auto released = park(*here);
  settle();
  waiters.release();
  EXPECT_EQ(result(released), Wake::ended);
  const auto later = arm({"a"}, "one");
  auto woken = park(*later);
  settle();
  waiters.ring("a");
  EXPECT_EQ(result(woken), Wake::rung);
}

TEST_F(WaitersTest, HeldPollsAreCountedOnceTheirFirstCheckFoundNothing) {
  auto first = arm({"a"});
  const auto second = arm({"b"});
  const auto without_owner = arm({"b"}, "");
  EXPECT_EQ(metrics.held_polls.Value(), 0);
  for (int again = 0; again < 2; ++again) {
    first->count();
    second->count();
    without_owner->count();
  }
  EXPECT_EQ(metrics.held_polls.Value(), 2);
  first.reset();
  EXPECT_EQ(metrics.held_polls.Value(), 1);
}

TEST_F(WaitersTest, ARingOnATopicWithoutRequestsDoesNothing) {
  waiters.ring("a");
  arm({"a"}).reset();
  waiters.ring("a");
}

// A reader checks, then parks; writers write, then ring. If a ring between the two were lost, the reader would sleep
// for ever on the last number.
TEST_F(WaitersTest, NoRingIsLostHoweverTheThreadsInterleave) {
  constexpr int kWriters = 3;
  constexpr int kWrites = 2000;
  std::atomic<int> written{0};
  const auto armed = arm({"a"});
  const auto read_all = [&]() -> asio::awaitable<int> {
    int seen = 0;
    while (seen < kWriters * kWrites) {
      const int now = written.load();
      if (now == seen) {
        const Wake wake = co_await armed->waiter().park(steady_clock::now() + kFar);
        if (wake != Wake::rung) co_return -1;
      }
      seen = now;
    }
    co_return seen;
  };
  auto seen = asio::co_spawn(loop_, read_all, asio::use_future);
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&] {
      for (int n = 0; n < kWrites; ++n) {
        ++written;
        waiters.ring("a");
      }
    });
  }
  for (auto& writer : writers) writer.join();
  ASSERT_EQ(seen.wait_for(kCeiling), std::future_status::ready) << "a ring was lost";
  EXPECT_EQ(seen.get(), kWriters * kWrites);
}

TEST_F(WaitersTest, ArmingRingingAndReleasingFromManyThreadsAtOnceIsSafe) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 500; ++n) {
        const auto armed = arm({"a", std::to_string(n % 7)}, std::to_string(i % 2));
        armed->count();
        waiters.ring(std::to_string(n % 5));
        waiters.ring("a");
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(metrics.held_polls.Value(), 0);
}

}  // namespace
}  // namespace restante::net
