// Clock: the one source of time. UTC with microseconds; `steady` never jumps. Time reaches verbs and stores as an
// argument, so tests own it. While now() is in doubt (desk/clock/clock_check.h), nothing is deleted because of its age,
// and what expires is judged by the last time before the doubt. Thread-safe.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
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

  bool trusted() const { return last_trusted_.load() == kTrusted; }
  // The time by which things expire: now(), or the last trusted time if that is earlier.
  Time expiry_time() const {
    const std::int64_t last = last_trusted_.load();
    return last == kTrusted ? now() : std::min(now(), Time(std::chrono::microseconds(last)));
  }
  // The time from which a lifetime counts that begins now: now(), or the last trusted time if that is later. Else a
  // file that came while the clock was behind would be overdue as soon as the clock is set right.
  Time lifetime_start() const {
    const std::int64_t last = last_trusted_.load();
    return last == kTrusted ? now() : std::max(now(), Time(std::chrono::microseconds(last)));
  }
  void doubt(Time last_trusted) { last_trusted_.store(last_trusted.time_since_epoch().count()); }
  void trust() { last_trusted_.store(kTrusted); }
  // The operator says that now() is right. How often that was said so far.
  void accept() { trust(), ++acceptances_; }
  unsigned acceptances() const { return acceptances_.load(); }

 private:
  static constexpr std::int64_t kTrusted = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> last_trusted_{kTrusted};
  std::atomic<unsigned> acceptances_{0};
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
