// LastRun records when a piece of background work last ended, and whether it failed. A loop that checks every second
// whether its work is due reports the work in this way, not the checks. Thread-safe.
#pragma once
#include <chrono>
#include <optional>

#include "base/clock.h"
#include "base/loop_tick.h"
#include "base/mutex.h"

namespace restante {

class LastRun {
 public:
  void ended(Time at, bool well) {
    const MutexLock lock(mutex_);
    at_ = at;
    failed_ = !well;
  }

  // `check` is the state of the loop that checks. A failure of the loop or of the work is a failure; due_at stays that
  // of the next check, which comes first.
  LoopTick as_loop_tick(LoopTick check, std::chrono::milliseconds every) const {
    const MutexLock lock(mutex_);
    check.period = every;
    check.last_tick_at = at_;
    check.failed = check.failed || failed_;
    return check;
  }

 private:
  mutable Mutex mutex_;
  std::optional<Time> at_ RESTANTE_GUARDED_BY(mutex_);
  bool failed_ RESTANTE_GUARDED_BY(mutex_) = false;
};

}  // namespace restante
