#include "server/platform/watchdog.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/error.h"
#include "base/fd.h"
#include "base/test_clock.h"

namespace restante {
namespace {

using namespace std::chrono_literals;

class WatchdogTest : public ::testing::Test {
 protected:
  bool moves() const {
    try {
      watchdog.require_moving();
      return true;
    } catch (const Unavailable&) {
      return false;
    }
  }

  ManualClock clock{Time()};
  Fd nowhere{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
  Log log{nowhere.get(), LogLevel::error, clock};
  Metrics metrics{{"1", "c", "g++"}};
  std::vector<WriterProgress> writers{{7, false}, {3, false}};
  int ended = 0;
  Watchdog watchdog{[this] { return writers; }, log, metrics, {60s, 300s}, [this] { ++ended; }};
};

TEST_F(WatchdogTest, AnIdleWriterIsNotStalled) {
  for (int i = 0; i < 10; ++i) watchdog.look(100s);
  EXPECT_TRUE(moves());
  EXPECT_EQ(ended, 0);
}

TEST_F(WatchdogTest, AWriterThatTakesOneGroupAfterTheOtherIsNotStalled) {
  for (int i = 0; i < 10; ++i) {
    writers[0] = {writers[0].groups + 1, true};
    watchdog.look(100s);
  }
  EXPECT_TRUE(moves());
  EXPECT_EQ(ended, 0);
}

TEST_F(WatchdogTest, OneThatWorksOnOneGroupForTooLongIsStalledUntilItMoves) {
  writers[1] = {4, true};
  watchdog.look(59s);
  watchdog.look(59s);
  EXPECT_TRUE(moves()) << "the time before the first look at the group does not count";
  watchdog.look(1s);
  EXPECT_FALSE(moves());
  EXPECT_EQ(metrics.writer_stalled.Value(), 60);
  writers[1] = {4, false};
  watchdog.look(1s);
  EXPECT_TRUE(moves());
  EXPECT_EQ(metrics.writer_stalled.Value(), 0);
  EXPECT_EQ(ended, 0);
}

TEST_F(WatchdogTest, AfterTheLongerTimeTheProcessEnds) {
  writers[0] = {8, true};
  watchdog.look(1s);
  for (int i = 0; i < 4; ++i) watchdog.look(60s);
  EXPECT_EQ(ended, 0);
  watchdog.look(60s);
  EXPECT_EQ(ended, 1);
}

TEST_F(WatchdogTest, ItsThreadLooksAndStops) {
  writers = {{1, true}};
  std::atomic<int> looks{0};
  Mutex mutex;
  ConditionVariable changed;
  Watchdog quick([this] { return writers; }, log, metrics, {1ms, 2ms},
                 [&] {
                   const MutexLock lock(mutex);
                   ++looks;
                   changed.notify_all();
                 });
  quick.start();
  MutexLock lock(mutex);
  while (looks == 0) changed.wait(lock);
  lock.unlock();
  quick.stop();
  EXPECT_GE(looks, 1);
}

TEST_F(WatchdogTest, ZeroNeverEndsTheProcess) {
  Watchdog patient([this] { return writers; }, log, metrics, {60s, 0s}, [this] { ++ended; });
  writers[0] = {8, true};
  for (int i = 0; i < 100; ++i) patient.look(100s);
  EXPECT_THROW(patient.require_moving(), Unavailable);
  EXPECT_EQ(ended, 0);
}

}  // namespace
}  // namespace restante
