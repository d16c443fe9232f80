// ShutdownDeadline is the time until which a thread may wait for another machine once the process is to end; without
// limit before that. Its owner outlives every thread that reads it. Thread-safe.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>

namespace restante {

class ShutdownDeadline {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  // Sets the end to at most this long from now. An earlier end that is already set stays.
  void end_within(std::chrono::milliseconds longest) {
    const Moment wanted = Moment::clock::now() + longest;
    Moment known = until_.load();
    while (wanted < known && !until_.compare_exchange_weak(known, wanted)) {
    }
  }
  Moment until() const { return until_.load(); }

 private:
  std::atomic<Moment> until_{Moment::max()};
};

// The earlier of the two; `shutdown` may be null.
inline ShutdownDeadline::Moment end_of_wait(ShutdownDeadline::Moment deadline, const ShutdownDeadline* shutdown) {
  return shutdown ? std::min(deadline, shutdown->until()) : deadline;
}

}  // namespace restante
