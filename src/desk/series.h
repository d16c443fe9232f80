// Series: the last day of this server's own figures, for the dashboard: a row a minute, in memory of a fixed size, so
// that charts need nothing but the server. Of what is counted a row holds what came since the row before, of what is
// measured the value at its time, of what is unknown nothing. Rows ascend in time: when the wall clock is set back, the
// older rows move with it; where the server slept (or the clock was set ahead) an empty row marks the gap. Of several
// servers on one database each keeps its own. Thread-safe.
#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"

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

// A quiet NaN is what is unknown.
using SeriesValues = std::array<double, kSeriesColumns.size()>;

struct SeriesRow {
  Time at;
  SeriesValues values{};
};

class Series {
 public:
  Series(Metrics& metrics, const Clock& clock, SeriesRules rules);

  // Takes a row. The first call takes none: it is what the first row is compared with.
  void tick();
  // The rows after `since`, oldest first.
  std::vector<SeriesRow> read(std::optional<Time> since) const;
  // What came since the last row, as of now; nothing is known before the first tick.
  SeriesRow running() const;
  const SeriesRules& rules() const { return rules_; }

 private:
  struct Reading {
    Time at;
    SteadyTime steady;
    SeriesValues values;                   // as the metrics have them: counters since the start
    std::vector<std::uint64_t> delivered;  // files by delivery time, cumulative, one count a bucket
    std::vector<double> bounds;
  };

  Reading look() const;
  static SeriesRow difference(const Reading& before, const Reading& now);
  void set_back(std::chrono::microseconds by);
  void add(const SeriesRow& row);

  Metrics& metrics_;
  const Clock& clock_;
  const SeriesRules rules_;
  std::vector<std::function<double()>> figures_;  // one a column, those of the percentiles excepted
  mutable std::mutex mutex_;                      // of all below: the loop writes, requests read
  std::optional<Reading> last_;
  std::vector<SeriesRow> ring_;
  std::size_t next_ = 0;
};

// The value below which `share` of what the buckets counted lies, by straight lines within a bucket; NaN when they
// counted nothing. `counts` are cumulative, the last one without an upper bound: there it is the last bound.
double percentile(const std::vector<double>& bounds, const std::vector<std::uint64_t>& counts, double share);

}  // namespace restante::desk
