#include "net/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <latch>
#include <semaphore>
#include <string>
#include <vector>

namespace restante::net {
namespace {

constexpr auto kCeiling = std::chrono::seconds(60);

TEST(ThreadPool, JobsBeginInTheOrderTheyWerePosted) {
  std::vector<int> order;
  ThreadPool pool(1);
  for (int i = 0; i < 1000; ++i) pool.post([&order, i] { order.push_back(i); });
  pool.join();
  ASSERT_EQ(order.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(ThreadPool, AJobThatWaitsForALaterOneDoesNotDelayIt) {
  ThreadPool pool(2, 1);
  std::promise<void> later;
  std::promise<void> done;
  pool.post([&] {
    later.get_future().wait();
    done.set_value();
  });
  pool.post([&] { later.set_value(); });
  EXPECT_EQ(done.get_future().wait_for(kCeiling), std::future_status::ready);
}

TEST(ThreadPool, ABlockingScopeLetsAnotherJobRunUntilItEnds) {
  constexpr int kRounds = 2000;
  std::atomic<int> ran{0};
  ThreadPool pool(3, 1);
  for (int i = 0; i < kRounds; ++i) {
    pool.post([&] {
      {
        const BlockingScope waiting;
        std::this_thread::yield();
      }
      ++ran;
    });
  }
  pool.join();
  EXPECT_EQ(ran, kRounds);
}

TEST(ThreadPool, AllThreadsWorkAtOnceWhenAllJobsBlock) {
  constexpr int kThreads = 8;
  std::latch together(kThreads);
  ThreadPool pool(kThreads, 2);
  for (int i = 0; i < kThreads; ++i) pool.post([&] { together.arrive_and_wait(); });
  pool.join();
}

TEST(ThreadPool, AJobBehindBlockedOnesRunsAlthoughNothingElseIsPosted) {
  ThreadPool pool(4, 2);
  std::promise<void> end;
  const auto ended = end.get_future().share();
  for (int i = 0; i < 3; ++i) pool.post([ended] { ended.wait(); });
  std::promise<void> ran;
  pool.post([&] { ran.set_value(); });
  EXPECT_EQ(ran.get_future().wait_for(kCeiling), std::future_status::ready);
  end.set_value();
}

TEST(ThreadPool, EverythingRunsOnceWhenManyPostAtTheSameTime) {
  constexpr int kPosters = 4;
  constexpr int kEach = 20'000;
  std::atomic<int> ran{0};
  ThreadPool pool(6, 2);
  std::vector<std::thread> posters;
  for (int i = 0; i < kPosters; ++i) {
    posters.emplace_back([&] {
      for (int k = 0; k < kEach; ++k) pool.post([&] { ++ran; });
    });
  }
  for (std::thread& poster : posters) poster.join();
  pool.join();
  EXPECT_EQ(ran, kPosters * kEach);
}

TEST(ThreadPool, ItWorksAgainAfterAllHaveSlept) {
  ThreadPool pool(4, 2);
  for (int i = 0; i < 2000; ++i) {
    std::promise<void> ran;
    auto future = ran.get_future();
    pool.post([&ran] { ran.set_value(); });
    ASSERT_EQ(future.wait_for(kCeiling), std::future_status::ready);
  }
}

TEST(ThreadPool, JobsPostedByJobsRunBeforeTheEnd) {
  std::atomic<int> ran{0};
  ThreadPool pool(3);
  for (int i = 0; i < 100; ++i) {
    pool.post([&] {
      ++ran;
      pool.post([&] { ++ran; });
    });
  }
  pool.join();
  EXPECT_EQ(ran, 200);
}

TEST(ThreadPool, AJobPostedAfterTheEndNeverRunsAndIsDestroyedWithThePool) {
  auto owned = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = owned;
  bool ran = false;
  {
    ThreadPool pool(2);
    pool.join();
    pool.post([&ran, kept = std::move(owned)] { ran = true; });
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_FALSE(ran);
  EXPECT_TRUE(watched.expired());
}

TEST(ThreadPool, WhoPostsManyJobsDelaysOthersByOneJob) {
  ThreadPool pool(1);
  std::promise<void> begin;
  pool.post([&] { begin.get_future().wait(); });
  std::vector<std::string> order;
  for (int i = 0; i < 100; ++i) pool.post([&] { order.emplace_back("many"); }, group_named("many"));
  for (int i = 0; i < 2; ++i) pool.post([&] { order.emplace_back("few"); }, group_named("few"));
  begin.set_value();
  pool.join();
  ASSERT_EQ(order.size(), 102u);
  order.resize(5);
  EXPECT_EQ(order, (std::vector<std::string>{"many", "few", "many", "few", "many"}));
}

TEST(ThreadPool, JobsOfOneGroupBeginInTheOrderTheyWerePosted) {
  std::vector<int> order[2];
  ThreadPool pool(1);
  for (int i = 0; i < 1000; ++i) pool.post([&order, i] { order[i % 2].push_back(i); }, 1 + i % 2);
  pool.join();
  for (const auto& one : order) {
    EXPECT_EQ(one.size(), 500u);
    EXPECT_TRUE(std::is_sorted(one.begin(), one.end()));
  }
}

TEST(ThreadPool, AGroupWhoseJobsBlockLeavesAThreadForOthers) {
  std::counting_semaphore<20> begun(0);
  ThreadPool pool(4, 4);
  std::promise<void> end;
  const auto ended = end.get_future().share();
  for (int i = 0; i < 20; ++i) {
    pool.post(
        [ended, &begun] {
          begun.release();
          ended.wait();
        },
        group_named("blocked"));
  }
  // All that the group may have. Were it next in turn, the last thread would be lost to it, too.
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(begun.try_acquire_for(kCeiling));
  std::promise<void> ran;
  pool.post([&] { ran.set_value(); }, group_named("other"));
  EXPECT_EQ(ran.get_future().wait_for(kCeiling), std::future_status::ready);
  end.set_value();
}

TEST(ThreadPool, EverythingOfManyGroupsRunsOnceAlsoWhatIsPostedByJobs) {
  constexpr int kJobs = 20'000;
  std::atomic<int> ran{0};
  ThreadPool pool(6, 3);
  for (int i = 0; i < kJobs; ++i) {
    const std::size_t group = static_cast<std::size_t>(i % 7);
    pool.post(
        [&, group] {
          pool.post([&] { ++ran; }, group + 1);
          ++ran;
        },
        group);
  }
  pool.join();
  EXPECT_EQ(ran, 2 * kJobs);
}

}  // namespace
}  // namespace restante::net
