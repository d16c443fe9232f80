#include "base/commit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"

namespace restante {
namespace {

TEST(Commit, AReadyCommitIsTakenAtOnce) {
  auto commit = Commit<std::string>::ready("done");
  bool called = false;
  commit.on_done([&] { called = true; });
  EXPECT_TRUE(called);
  EXPECT_EQ(commit.take(), "done");
}

TEST(Commit, OnDoneBeforeTheEndIsCalledOnceAtTheEnd) {
  CommitPromise<int> promise;
  auto commit = promise.commit();
  int called = 0;
  commit.on_done([&] { ++called; });
  commit.on_done([&] { ++called; });
  EXPECT_EQ(called, 0);
  promise.fulfil(7);
  EXPECT_EQ(called, 2);
  EXPECT_EQ(commit.take(), 7);
  EXPECT_EQ(called, 2);
}

TEST(Commit, AWaitWithALimitTellsWhetherTakingWouldBlock) {
  CommitPromise<int> promise;
  auto commit = promise.commit();
  EXPECT_FALSE(commit.wait_for(std::chrono::milliseconds(1)));
  promise.fulfil(7);
  EXPECT_TRUE(commit.wait_for(std::chrono::milliseconds(0)));
  EXPECT_EQ(commit.take(), 7);
}

TEST(Commit, OnDoneAfterTheEndIsCalledAtOnceOnThisThread) {
  CommitPromise<int> promise;
  promise.fulfil(7);
  auto commit = promise.commit();
  std::thread::id where;
  commit.on_done([&] { where = std::this_thread::get_id(); });
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST(Commit, ThenSeesTheValueBeforeItCanBeTaken) {
  CommitPromise<std::string> promise;
  auto commit = promise.commit();
  std::string seen;
  std::string order;
  commit.on_done([&] { order += "done"; });
  commit.then([&](const std::string& value) {
    seen = value;
    order += "then ";
  });
  promise.fulfil("kept");
  EXPECT_EQ(seen, "kept");
  EXPECT_EQ(order, "then done");
  EXPECT_EQ(commit.take(), "kept");
}

TEST(Commit, ThenIsCalledForAValueThatIsThereAlreadyAndNotForAFailure) {
  int seen = 0;
  Commit<int>::ready(7).then([&](int value) { seen = value; });
  EXPECT_EQ(seen, 7);
  CommitPromise<int> before;
  before.commit().then([&](int value) { seen = value; });
  before.fail(std::make_exception_ptr(Unavailable("failed")));
  CommitPromise<int> after;
  after.fail(std::make_exception_ptr(Unavailable("failed")));
  after.commit().then([&](int value) { seen = value; });
  EXPECT_EQ(seen, 7);
}

TEST(Commit, AnObserverThatThrowsIsReportedAndChangesNothing) {
  std::vector<std::string> reasons;
  ObserverFailures::report_to([&](const char* reason) { reasons.emplace_back(reason); });
  CommitPromise<int> promise;
  auto commit = promise.commit();
  int seen = 0;
  commit.then([](int) { throw std::runtime_error("first"); });
  commit.then([](int) { throw 7; });
  commit.then([&](int value) { seen = value; });
  commit.on_done([] { throw std::runtime_error("callback"); });
  commit.on_done([&] { ++seen; });
  EXPECT_NO_THROW(promise.fulfil(7));
  EXPECT_EQ(seen, 8) << "the others are called";
  EXPECT_NO_THROW(commit.then([](int) { throw std::runtime_error("late"); }));
  EXPECT_NO_THROW(commit.on_done([] { throw std::runtime_error("last"); }));
  EXPECT_EQ(commit.take(), 7);
  EXPECT_EQ(reasons, (std::vector<std::string>{"first", "not an exception", "callback", "late", "last"}));
  ObserverFailures::report_to([](const char*) { throw std::runtime_error("the report itself"); });
  EXPECT_NO_THROW(commit.on_done([] { throw std::runtime_error("unreported"); }));
  ObserverFailures::report_to({});
  EXPECT_NO_THROW(commit.on_done([] { throw std::runtime_error("unreported"); }));
}

TEST(Commit, ACallbackMayTakeAndSubscribeAgain) {
  CommitPromise<std::unique_ptr<int>> promise;
  auto commit = promise.commit();
  std::unique_ptr<int> taken;
  bool again = false;
  commit.on_done([&, copy = commit]() mutable {
    taken = copy.take();
    copy.on_done([&] { again = true; });
  });
  promise.fulfil(std::make_unique<int>(7));
  ASSERT_TRUE(taken);
  EXPECT_EQ(*taken, 7);
  EXPECT_TRUE(again);
}

TEST(Commit, TheWritersFailureIsRethrownToEveryTaker) {
  CommitPromise<int> promise;
  auto commit = promise.commit();
  auto copy = commit;
  bool called = false;
  commit.on_done([&] { called = true; });
  promise.fail(std::make_exception_ptr(Unavailable("the disk has failed")));
  EXPECT_TRUE(called);
  EXPECT_THROW(commit.take(), Unavailable);
  EXPECT_THROW(copy.take(), Unavailable);
}

TEST(Commit, ATakerOnAnotherThreadWaitsForTheValue) {
  CommitPromise<std::string> promise;
  std::latch waiting(1);
  std::atomic<bool> fulfilled = false;
  std::string taken;
  bool early = false;
  std::jthread taker([&, commit = promise.commit()]() mutable {
    waiting.count_down();
    taken = commit.take();
    early = !fulfilled;
  });
  waiting.wait();
  fulfilled = true;
  promise.fulfil("durable");
  taker.join();
  EXPECT_EQ(taken, "durable");
  EXPECT_FALSE(early);
}

TEST(Commit, ATakerOnAnotherThreadGetsTheFailure) {
  CommitPromise<int> promise;
  std::string what;
  std::jthread taker([&, commit = promise.commit()]() mutable {
    try {
      commit.take();
    } catch (const Unavailable& failure) {
      what = failure.what();
    }
  });
  promise.fail(std::make_exception_ptr(Unavailable("failed")));
  taker.join();
  EXPECT_EQ(what, "failed");
}

TEST(Commit, SubscribingWhileItIsFulfilledCallsBackExactlyOnce) {
  for (int round = 0; round < 2000; ++round) {
    auto promise = std::make_unique<CommitPromise<int>>();
    auto commit = promise->commit();
    std::atomic<int> called = 0;
    std::latch start(2);
    std::jthread writer([&] {
      start.arrive_and_wait();
      promise->fulfil(round);
      promise.reset();
    });
    start.arrive_and_wait();
    commit.on_done([&] { ++called; });
    EXPECT_EQ(commit.take(), round);
    writer.join();
    ASSERT_EQ(called, 1);
  }
}

}  // namespace
}  // namespace restante
