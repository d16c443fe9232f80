// DisciplinedClock takes the time from another source, the database, and continues from there with the steady clock.
// Servers that use the same source agree on the time, whatever happens to their own clocks. It returns the system's
// time until it is set for the first time. Thread-safe.
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
  // False until the first set().
  bool is_set() const { return ahead_.load() != kNotSet; }

 private:
  static constexpr std::int64_t kNotSet = std::numeric_limits<std::int64_t>::min();
  std::atomic<std::int64_t> ahead_{kNotSet};  // ahead of the steady clock, in microseconds
};

}  // namespace restante
