#include "desk/series/series.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace restante::desk {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kCounted = 18;  // the first columns, counters
constexpr std::size_t kFigures = 24;  // and the measured ones after them
constexpr std::array kShares = {0.50, 0.95, 0.99};
static_assert(kFigures + kShares.size() == kSeriesColumns.size());

// Smaller differences between the two clocks are corrections by NTP.
constexpr auto kClockSlack = std::chrono::seconds(1);

std::function<double()> value_of(prometheus::Counter& counter) {
  return [&counter] { return counter.Value(); };
}

std::function<double()> value_of(prometheus::Gauge& gauge) {
  return [&gauge] { return gauge.Value(); };
}

std::function<double()> all_answers(Metrics& metrics) {
  std::vector<prometheus::Counter*> classes;
  for (const char* one : {"2xx", "3xx", "4xx", "5xx"}) classes.push_back(&metrics.http_responses(one));
  return [classes] {
    double sum = 0;
    for (const prometheus::Counter* counter : classes) sum += counter->Value();
    return sum;
  };
}

// In the order of kSeriesColumns.
std::vector<std::function<double()>> figures_of(Metrics& m) {
  return {value_of(m.uploads_staged),
          value_of(m.uploads_fetched),
          value_of(m.uploads_acked),
          value_of(m.swept("expired")),
          value_of(m.uploads_failed),
          value_of(m.uploads_recalled),
          value_of(m.uploads_staged_bytes),
          value_of(m.uploads_acked_bytes),
          all_answers(m),
          value_of(m.http_responses("4xx")),
          value_of(m.http_responses("5xx")),
          value_of(m.swept("acked")),
          value_of(m.swept("expired")),
          value_of(m.swept("error")),
          value_of(m.orphans_collected),
          value_of(m.delegation_steps("completed")),
          value_of(m.delegation_steps("failed")),
          value_of(m.delegation_steps("stuck")),
          value_of(m.pending_uploads),
          value_of(m.pending_uploads_bytes),
          value_of(m.held_polls),
          value_of(m.delegations_in_flight("queued")),
          value_of(m.delegations_in_flight("dispatched")),
          value_of(m.delegations_in_flight("in_progress"))};
}

}  // namespace

double percentile(const std::vector<double>& bounds, const std::vector<std::uint64_t>& counts, double share) {
  if (counts.empty() || counts.back() == 0) return kUnknown;
  const double wanted = share * static_cast<double>(counts.back());
  std::size_t at = 0;
  while (at + 1 < counts.size() && static_cast<double>(counts[at]) < wanted) ++at;
  if (at >= bounds.size()) return bounds.empty() ? kUnknown : bounds.back();
  const double below = at == 0 ? 0 : static_cast<double>(counts[at - 1]);
  const double low = at == 0 ? 0 : bounds[at - 1];
  const double within = static_cast<double>(counts[at]) - below;
  return within <= 0 ? bounds[at] : low + (bounds[at] - low) * (wanted - below) / within;
}

Series::Series(Metrics& metrics, const Clock& clock, SeriesRules rules)
    : metrics_(metrics), clock_(clock), rules_(rules), figures_(figures_of(metrics)) {
  ring_.reserve(rules_.rows);
}

Series::Reading Series::read_metrics() const {
  Reading reading{clock_.now(), clock_.steady(), {}, {}, {}};
  reading.values.fill(kUnknown);
  for (std::size_t i = 0; i < figures_.size(); ++i) reading.values[i] = figures_[i]();
  for (const auto& bucket : metrics_.upload_delivery.Collect().histogram.bucket) {
    reading.delivered.push_back(bucket.cumulative_count);
    if (std::isfinite(bucket.upper_bound)) reading.bounds.push_back(bucket.upper_bound);
  }
  return reading;
}

SeriesRow Series::difference(const Reading& before, const Reading& now) {
  SeriesRow row{now.at, now.values};
  std::vector<std::uint64_t> delivered = now.delivered;
  for (std::size_t i = 0; i < kCounted; ++i) row.values[i] -= before.values[i];
  for (std::size_t i = 0; i < delivered.size(); ++i) delivered[i] -= before.delivered[i];
  for (std::size_t i = 0; i < kShares.size(); ++i) {
    row.values[kFigures + i] = percentile(now.bounds, delivered, kShares[i]);
  }
  return row;
}

void Series::tick() {
  Reading now = read_metrics();
  const MutexLock lock(mutex_);
  if (last_) {
    const auto shown = now.at - last_->at;
    const auto passed = std::chrono::duration_cast<std::chrono::microseconds>(now.steady - last_->steady);
    if (shown <= std::chrono::microseconds(0) || shown < passed - kClockSlack) {
      set_back(passed - shown);
    } else if (shown > 2 * rules_.every + kClockSlack) {
      SeriesRow gap{last_->at + rules_.every, {}};
      gap.values.fill(kUnknown);
      add(gap);
    }
    add(difference(*last_, now));
  }
  last_ = std::move(now);
}

void Series::set_back(std::chrono::microseconds by) {
  for (SeriesRow& row : ring_) row.at -= by;
}

void Series::add(const SeriesRow& row) {
  if (ring_.size() < rules_.rows) {
    ring_.push_back(row);
    return;
  }
  ring_[next_] = row;
  next_ = (next_ + 1) % rules_.rows;
}

std::vector<SeriesRow> Series::read(std::optional<Time> since) const {
  const MutexLock lock(mutex_);
  std::vector<SeriesRow> rows;
  for (std::size_t i = 0; i < ring_.size(); ++i) {
    const SeriesRow& row = ring_[(next_ + i) % ring_.size()];
    if (!since || row.at > *since) rows.push_back(row);
  }
  return rows;
}

SeriesRow Series::running() const {
  const Reading now = read_metrics();
  const MutexLock lock(mutex_);
  if (last_) return difference(*last_, now);
  SeriesRow unknown{now.at, {}};
  unknown.values.fill(kUnknown);
  return unknown;
}

}  // namespace restante::desk
