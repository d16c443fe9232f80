#include "base/mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <thread>
#include <vector>

namespace restante {
namespace {

constexpr int kThreads = 4;
constexpr int kTimes = 1'000;

template <class Body>
void run_on_threads(int count, Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body);
  for (std::thread& thread : threads) thread.join();
}

struct Counter {
  Mutex mutex;
  ConditionVariable changed;
  int count RESTANTE_GUARDED_BY(mutex) = 0;
};

struct Pair {
  SharedMutex mutex;
  int first RESTANTE_GUARDED_BY(mutex) = 0;
  int second RESTANTE_GUARDED_BY(mutex) = 0;
};

// The number after the increment, which waits until the mutex is unlocked.
std::future<int> count_in_another_thread(Counter& counter) {
  return std::async(std::launch::async, [&] {
    const MutexLock lock(counter.mutex);
    return ++counter.count;
  });
}

TEST(AMutex, IsLockedByOneThreadAtATime) {
  Counter counter;
  run_on_threads(kThreads, [&] {
    for (int i = 0; i < kTimes; ++i) {
      const MutexLock lock(counter.mutex);
      ++counter.count;
    }
  });
  const MutexLock lock(counter.mutex);
  EXPECT_EQ(counter.count, kThreads * kTimes);
}

TEST(AMutexLock, CanBeUnlockedAndLockedAgain) {
  Counter counter;
  MutexLock lock(counter.mutex);
  auto other = count_in_another_thread(counter);
  counter.count = 1;
  lock.unlock();
  EXPECT_EQ(other.get(), 2);
  lock.lock();
  EXPECT_EQ(counter.count, 2);
}

TEST(AMutexLock, LeavesTheMutexUnlockedWhenItWasUnlockedBefore) {
  Counter counter;
  {
    MutexLock lock(counter.mutex);
    lock.unlock();
  }
  const MutexLock lock(counter.mutex);
  EXPECT_EQ(counter.count, 0);
}

TEST(AConditionVariable, WakesAThreadThatWaits) {
  Counter counter;
  auto waiting = std::async(std::launch::async, [&] {
    MutexLock lock(counter.mutex);
    counter.count = 1;
    counter.changed.notify_one();
    while (counter.count == 1) counter.changed.wait(lock);
    return counter.count;
  });
  MutexLock lock(counter.mutex);
  while (counter.count == 0) counter.changed.wait(lock);
  counter.count = 2;
  counter.changed.notify_one();
  lock.unlock();
  EXPECT_EQ(waiting.get(), 2);
}

TEST(AConditionVariable, WakesAllThreadsThatWait) {
  Counter counter;
  std::thread notifier([&] {
    MutexLock lock(counter.mutex);
    while (counter.count < kThreads) counter.changed.wait(lock);
    counter.count = 0;
    counter.changed.notify_all();
  });
  run_on_threads(kThreads, [&] {
    MutexLock lock(counter.mutex);
    if (++counter.count == kThreads) counter.changed.notify_all();
    while (counter.count > 0) counter.changed.wait_for(lock, std::chrono::hours(1));
  });
  notifier.join();
}

TEST(AConditionVariable, StopsWaitingWhenTheTimeIsUp) {
  Counter counter;
  MutexLock lock(counter.mutex);
  while (counter.changed.wait_for(lock, std::chrono::milliseconds(1)) == std::cv_status::no_timeout) continue;
  const auto past = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(counter.changed.wait_until(lock, past), std::cv_status::timeout);
  // Locked again: the other thread has to wait.
  auto other = count_in_another_thread(counter);
  counter.count = 1;
  lock.unlock();
  EXPECT_EQ(other.get(), 2);
}

TEST(ASharedMutex, HasReadersTogether) {
  Pair pair;
  std::latch all_are_readers(kThreads);
  run_on_threads(kThreads, [&] {
    const ReaderLock lock(pair.mutex);
    EXPECT_EQ(pair.first, pair.second);
    all_are_readers.arrive_and_wait();
  });
}

TEST(ASharedMutex, HasAWriterAlone) {
  Pair pair;
  std::atomic<int> different = 0;
  std::thread reader([&] {
    for (int i = 0; i < kTimes; ++i) {
      const ReaderLock lock(pair.mutex);
      if (pair.first != pair.second) ++different;
    }
  });
  run_on_threads(kThreads, [&] {
    for (int i = 0; i < kTimes; ++i) {
      const WriterLock lock(pair.mutex);
      ++pair.first;
      ++pair.second;
    }
  });
  reader.join();
  EXPECT_EQ(different, 0);
  const ReaderLock lock(pair.mutex);
  EXPECT_EQ(pair.first, kThreads * kTimes);
}

bool can_lock(TimedMutex& mutex) {
  if (!mutex.try_lock_for(std::chrono::milliseconds(1))) return false;
  const TimedMutexLock lock(mutex);
  return true;
}

TEST(ATimedMutex, IsNotLockedByASecondThread) {
  TimedMutex mutex;
  const auto another_can_lock = [&] { return std::async(std::launch::async, [&] { return can_lock(mutex); }).get(); };
  EXPECT_TRUE(another_can_lock());
  {
    if (!mutex.try_lock()) FAIL();
    const TimedMutexLock lock(mutex);
    EXPECT_FALSE(another_can_lock());
  }
  EXPECT_TRUE(another_can_lock());
}

}  // namespace
}  // namespace restante
