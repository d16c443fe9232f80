// Series keeps the last day of this server's own figures for the dashboard, one row a minute, in memory of a fixed
// size. So charts need only the server. For a counter a row has the increase since the row before, for a gauge its
// value at that time, for unknown values NaN. Rows ascend in time: when the wall clock is set back, the older rows are
// moved back with it. When the server slept, or the clock was set ahead, an empty row marks the gap. Each of several
// servers on one database keeps its own series. Thread-safe.
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/mutex.h"

namespace restante::desk {

struct SeriesRules {
  std::chrono::milliseconds every{std::chrono::minutes(1)};
  std::size_t rows = 1'440;  // a day of minutes
};

inline constexpr std::array<std::string_view, 27> kSeriesColumns = {
    "staged",        "fetched",       "acked",       "expired",      "failed",       "recalled",
    "staged_bytes",  "acked_bytes",   "requests",    "errors_4xx",   "errors_5xx",   "swept_acked",
    "swept_expired", "swept_errors",  "orphans",     "tasks_done",   "tasks_failed", "tasks_stuck",
    "waiting_files", "waiting_bytes", "held_polls",  "tasks_queued", "tasks_given",  "tasks_in_progress",
    "delivery_p50",  "delivery_p95",  "delivery_p99"};

// A quiet NaN means unknown.
using SeriesValues = std::array<double, kSeriesColumns.size()>;

struct SeriesRow {
  Time at;
  SeriesValues values{};
};

class Series {
 public:
  Series(Metrics& metrics, const Clock& clock, SeriesRules rules);

  // Adds a row. The first call adds none: the first row is compared with it.
  void tick();
  // The rows after `since`, oldest first.
  std::vector<SeriesRow> read(std::optional<Time> since) const;
  // The increase since the last row, as of now; all unknown before the first tick.
  SeriesRow running() const;
  const SeriesRules& rules() const { return rules_; }

 private:
  struct Reading {
    Time at;
    SteadyTime steady;
    SeriesValues values;                   // as in the metrics: counters since the start
    std::vector<std::uint64_t> delivered;  // files by delivery time, cumulative, one count for each bucket
    std::vector<double> bounds;
  };

  Reading read_metrics() const;
  static SeriesRow difference(const Reading& before, const Reading& now);
  void set_back(std::chrono::microseconds by) RESTANTE_REQUIRES(mutex_);
  void add(const SeriesRow& row) RESTANTE_REQUIRES(mutex_);

  Metrics& metrics_;
  const Clock& clock_;
  const SeriesRules rules_;
  std::vector<std::function<double()>> figures_;  // one for each column except the percentiles
  mutable Mutex mutex_;                           // the loop writes, requests read
  std::optional<Reading> last_ RESTANTE_GUARDED_BY(mutex_);
  std::vector<SeriesRow> ring_ RESTANTE_GUARDED_BY(mutex_);
  std::size_t next_ RESTANTE_GUARDED_BY(mutex_) = 0;
};

// The value below which `share` of the counted values are, interpolated linearly within a bucket; NaN when nothing was
// counted. `counts` are cumulative. The last bucket has no upper bound: for it the last bound is returned.
double percentile(const std::vector<double>& bounds, const std::vector<std::uint64_t>& counts, double share);

}  // namespace restante::desk
