#include "model/clock_rules.h"

#include <fmt/format.h>

namespace restante {

bool is_clock_jump(std::chrono::microseconds by) { return by > kClockTolerance || by < -kClockTolerance; }

std::string print_difference(std::chrono::microseconds difference) {
  const auto minutes = std::chrono::round<std::chrono::minutes>(std::chrono::abs(difference)).count();
  const auto print = [](std::int64_t count, const char* unit) {
    return fmt::format("{} {}{}", count, unit, count == 1 ? "" : "s");
  };
  if (minutes >= 48 * 60) return print(minutes / (24 * 60), "day");
  if (minutes >= 120) return print(minutes / 60, "hour");
  return print(minutes, "minute");
}

std::string doubt_at_start(Time now, Time newest_known) {
  const auto by = now - newest_known;
  if (!is_clock_jump(by)) return {};
  const std::string newest = fmt::format("the newest time in the store, {}", format_time(newest_known));
  if (by < by.zero()) return fmt::format("the clock is {} behind {}", print_difference(by), newest);
  return fmt::format("the clock is {} ahead of {}: it is wrong, or no server ran for so long", print_difference(by),
                     newest);
}

std::string doubt_after_jump(std::chrono::microseconds by) {
  if (!is_clock_jump(by)) return {};
  return by < by.zero() ? fmt::format("the clock was set back by {}", print_difference(by))
                        : fmt::format("the clock was set ahead by {}, or the machine slept", print_difference(by));
}

std::string doubt_about(const ClockDifferences& differences, const ClockDifferences& accepted) {
  if (is_clock_jump(differences.database - accepted.database)) {
    return fmt::format("the clock of this machine and that of the database differ by {}",
                       print_difference(differences.database));
  }
  if (is_clock_jump(differences.files - accepted.files)) {
    return fmt::format("the clock of this machine and that of the file system under the data directory differ by {}",
                       print_difference(differences.files));
  }
  return {};
}

}  // namespace restante
