// ManualClock: a clock that tests set. Thread-safe.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace restante {

class ManualClock final : public Clock {
 public:
  explicit ManualClock(Time start) : now_(start.time_since_epoch().count()) {}
  Time now() const override { return Time(std::chrono::microseconds(now_.load())); }
  SteadyTime steady() const override { return SteadyTime(std::chrono::microseconds(steady_.load())); }
  // Time passes: both clocks move.
  void advance(std::chrono::microseconds by) { now_ += by.count(), steady_ += by.count(); }
  // The wall clock alone is set, as an operator or NTP does.
  void jump(std::chrono::microseconds by) { now_ += by.count(); }

 private:
  std::atomic<std::int64_t> now_;
  std::atomic<std::int64_t> steady_{0};
};

}  // namespace restante
