// DisciplinedClock: the time as somebody else tells it, and from there on by the steady clock, so that servers which
// are told by the same one agree whatever is done to their own clocks. The system's time until it is told for the first
// time. Thread-safe.
#pragma once
#include <atomic>
#include <limits>

#include "base/clock.h"

namespace restante {

class DisciplinedClock final : public Clock {
 public:
  Time now() const override;
  SteadyTime steady() const override { return std::chrono::steady_clock::now(); }
  // It was `time` at the moment `at`.
  void set(Time time, SteadyTime at);
  // Nothing until it is told.
  bool is_set() const { return ahead_.load() != kNotSet; }

 private:
  static constexpr std::int64_t kNotSet = std::numeric_limits<std::int64_t>::min();
  std::atomic<std::int64_t> ahead_{kNotSet};  // of the steady clock, in microseconds
};

}  // namespace restante
