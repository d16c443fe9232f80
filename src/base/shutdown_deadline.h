// Closing: until when whoever waits for another machine may go on waiting, once the process is to end; for ever before
// that. Whoever made it lives longer than whoever looks at it. Thread-safe.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>

namespace restante {

class ShutdownDeadline {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  // From now on at most so long. An earlier end that was set before stays.
  void end_within(std::chrono::milliseconds patience) {
    const Moment wanted = Moment::clock::now() + patience;
    Moment known = until_.load();
    while (wanted < known && !until_.compare_exchange_weak(known, wanted)) {
    }
  }
  Moment until() const { return until_.load(); }

 private:
  std::atomic<Moment> until_{Moment::max()};
};

// The earlier of the two; `closing` may be null.
inline ShutdownDeadline::Moment end_of_wait(ShutdownDeadline::Moment deadline, const ShutdownDeadline* shutdown) {
  return shutdown ? std::min(deadline, shutdown->until()) : deadline;
}

}  // namespace restante
