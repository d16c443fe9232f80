// The rules of a clock that may be wrong: which difference from another clock or from an earlier time is too large, and
// the sentence for it. An empty sentence means that the clock can be trusted. Pure functions.
#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"

namespace restante {

// Clocks that nobody keeps right are off by minutes.
constexpr std::chrono::microseconds kClockTolerance = std::chrono::minutes(10);

// By how much clocks that run at the same time differ from this machine's.
struct ClockDifferences {
  std::chrono::microseconds database{0};
  std::chrono::microseconds files{0};
};

bool is_clock_jump(std::chrono::microseconds by);
// "40 days", "3 hours", "12 minutes"; without a sign.
std::string print_difference(std::chrono::microseconds difference);

// The time at a start, compared with the newest time that is known from before it.
std::string doubt_at_start(Time now, Time newest_known);
// The clock moved by so much more than time has passed.
std::string doubt_after_jump(std::chrono::microseconds by);
// `accepted`: differences that the operator has said are right.
std::string doubt_about(const ClockDifferences& differences, const ClockDifferences& accepted);

}  // namespace restante
