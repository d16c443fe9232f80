#include "base/clock.h"

#include <fmt/format.h>

namespace restante {
namespace {

constexpr Time kFirst = std::chrono::sys_days(std::chrono::year(1970) / 1 / 1);
constexpr Time kEnd = std::chrono::sys_days(std::chrono::year(10'000) / 1 / 1);

// Reads exactly `digits` digits at the front and moves past them.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take_char(std::string_view& text, std::string_view allowed) {
  if (text.empty() || allowed.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::chrono::microseconds> take_fraction(std::string_view& text) {
  if (!take_char(text, ".")) return std::chrono::microseconds(0);
  std::int64_t micros = 0;
  std::size_t digits = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    if (digits < 6) micros = micros * 10 + (text.front() - '0');
    ++digits;
    text.remove_prefix(1);
  }
  if (digits == 0 || digits > 9) return std::nullopt;
  for (std::size_t i = digits; i < 6; ++i) micros *= 10;
  return std::chrono::microseconds(micros);
}

std::optional<std::chrono::minutes> take_offset(std::string_view& text) {
  if (take_char(text, "Zz")) return std::chrono::minutes(0);
  const bool west = !text.empty() && text.front() == '-';
  if (!take_char(text, "+-")) return std::nullopt;
  const auto hours = take_number(text, 2);
  if (!hours || !take_char(text, ":")) return std::nullopt;
  const auto minutes = take_number(text, 2);
  if (!minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  const auto offset = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  return west ? -offset : offset;
}

}  // namespace

Time SystemClock::now() const {
  return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

SteadyTime SystemClock::steady() const { return std::chrono::steady_clock::now(); }

std::string format_time(Time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

std::optional<Time> parse_time(std::string_view text) {
  const auto year = take_number(text, 4);
  if (!year || !take_char(text, "-")) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take_char(text, "-")) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day || !take_char(text, "Tt ")) return std::nullopt;
  const auto hour = take_number(text, 2);
  if (!hour || *hour > 23 || !take_char(text, ":")) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || *minute > 59 || !take_char(text, ":")) return std::nullopt;
  const auto second = take_number(text, 2);
  if (!second || *second > 60) return std::nullopt;
  const auto fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  const auto offset = take_offset(text);
  if (!offset || !text.empty()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const Time whole = Time(std::chrono::sys_days(date)) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
                     std::chrono::seconds(*second) - *offset;
  // Leap seconds come only before midnight UTC; they are read as that midnight.
  if (*second == 60 && whole != std::chrono::floor<std::chrono::days>(whole)) return std::nullopt;
  // An offset can lead out of the range of years that format_time can write.
  if (whole < kFirst || whole >= kEnd) return std::nullopt;
  return whole + *fraction;
}

}  // namespace restante
