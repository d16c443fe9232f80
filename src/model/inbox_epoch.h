// The epoch of the inboxes begins when an older copy of the database was restored. Without it the numbers of the rows
// that the copy does not have would be given to new rows, and a client that had read the lost ones would skip the new
// ones. The numbers of an epoch are above all numbers of the epochs before it, so each number, and each cursor that is
// a number, carries its epoch. A cursor from rows that were lost names no row any more: 410. Pure.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace restante {

// Every row of an epoch that begins at `now` has a larger number. It depends on the time, because a counter would be
// restored with the rest. An inbox that gets less than 1024 rows a second for as long as an epoch lasts stays below the
// next one; up to the year 2088 the numbers stay below 2^41.
inline std::int64_t seq_of_epoch(Time now) {
  constexpr std::chrono::sys_days kFirst = std::chrono::year(2020) / 1 / 1;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()) - kFirst.time_since_epoch();
  return seconds.count() > 0 ? seconds.count() << 10 : 0;
}

// The same when `largest` is the largest number that is stored. It is above the clock's own number if the clock is
// behind, or was ahead when an epoch began. Then the clock's number is counted from the largest one: above it by years
// of rows, and above what an earlier restore of the same copy began with. It stays below 2^53, the largest number that
// JSON has in every language, for thousands of such restores.
inline std::int64_t seq_of_epoch(Time now, std::int64_t largest) {
  const std::int64_t by_clock = seq_of_epoch(now);
  return largest > by_clock ? largest + std::max(by_clock, std::int64_t{1} << 36) : by_clock;
}

}  // namespace restante
