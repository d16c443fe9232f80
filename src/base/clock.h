// Clock: the one source of time. UTC with microseconds; `steady` never jumps. Time reaches verbs and stores as an
// argument, so tests own it. Thread-safe.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace restante {

using Time = std::chrono::sys_time<std::chrono::microseconds>;
using SteadyTime = std::chrono::steady_clock::time_point;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;
  virtual SteadyTime steady() const = 0;
};

class SystemClock final : public Clock {
 public:
  Time now() const override;
  SteadyTime steady() const override;
};

// 2026-11-15T03:28:00.000000Z
std::string format_time(Time time);
// RFC 3339 with any offset and up to nine decimals; nothing else. Years 1970 to 9999.
std::optional<Time> parse_time(std::string_view text);

}  // namespace restante
