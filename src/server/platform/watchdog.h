// Watchdog notices a writer that does not move: one that has worked on the same group of writes for `stalled_after`.
// Then /ready fails, an error is logged and a metric says so. After `end_after` it ends the process, so that a
// supervisor starts it again: everything that was answered is durable, and a thread that does not return cannot be
// ended in another way. Only time in which the watchdog itself ran counts, so a process that was suspended is not taken
// for one that hangs. It has its own thread, because every thread of the pool may wait for the writer.
#pragma once
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "store/writer_progress.h"

namespace restante {

struct WatchdogRules {
  std::chrono::milliseconds stalled_after{60'000};
  std::chrono::milliseconds end_after{300'000};  // 0: never
};

class Watchdog {
 public:
  using Writers = std::function<std::vector<WriterProgress>()>;

  // `end` ends the process. It does not return, except in tests.
  Watchdog(Writers writers, Log& log, Metrics& metrics, WatchdogRules rules, std::function<void()> end);
  ~Watchdog();

  void start();
  // Afterwards the writers are not asked any more.
  void stop();
  // Throws Unavailable while a writer is stalled. Any thread.
  void require_moving() const;

  // One look at the writers, `since` the last one. For the watchdog's thread, and for tests without it.
  void look(std::chrono::milliseconds since);

 private:
  struct Watched {
    WriterProgress last;
    std::chrono::milliseconds stands_for{0};
  };
  std::chrono::milliseconds period() const;
  void run();

  const Writers writers_;
  Log& log_;
  Metrics& metrics_;
  const WatchdogRules rules_;
  const std::function<void()> end_;
  std::vector<Watched> watched_;  // of the thread that looks

  mutable Mutex mutex_;
  ConditionVariable changed_;
  bool stopping_ RESTANTE_GUARDED_BY(mutex_) = false;
  std::chrono::milliseconds stalled_for_ RESTANTE_GUARDED_BY(mutex_){0};  // 0: all move
  std::thread thread_;
};

}  // namespace restante
