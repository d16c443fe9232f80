// LastRun: when a piece of background work last ended, and how, for whoever asks meanwhile. A loop that looks every
// second whether its work is due tells of the work by it, instead of the looking. Thread-safe.
#pragma once
#include <chrono>
#include <mutex>
#include <optional>

#include "base/clock.h"
#include "base/loop_tick.h"

namespace restante {

class LastRun {
 public:
  void ended(Time at, bool well) {
    const std::lock_guard lock(mutex_);
    at_ = at;
    failed_ = !well;
  }

  // `look` is how the looking goes. Trouble of either is trouble; when it is due stays the look's, which comes first.
  LoopTick as_loop_tick(LoopTick look, std::chrono::milliseconds every) const {
    const std::lock_guard lock(mutex_);
    look.period = every;
    look.last_tick_at = at_;
    look.failed = look.failed || failed_;
    return look;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<Time> at_;
  bool failed_ = false;
};

}  // namespace restante
