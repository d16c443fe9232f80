#include "desk/clock/clock_check.h"

#include <utility>

namespace restante::desk {
namespace {

// Much less than what is tolerated: a start after a crash finds a time that is not far from the end.
constexpr auto kRecordEvery = std::chrono::minutes(1);

}  // namespace

ClockCheck::ClockCheck(ClockStore& store, Clock& clock, Log& log, Metrics& metrics, ClockCheckRules rules)
    : store_(store), clock_(clock), log_(log), metrics_(metrics), rules_(std::move(rules)) {
  metrics_.clock_trusted.Set(1);
}

void ClockCheck::tick() {
  if (compared_) {
    look_for_jump();
  } else {
    compare();
  }
  review();
  const SteadyTime now = clock_.steady();
  if (clock_.trusted() && (!recorded_at_ || now - *recorded_at_ >= kRecordEvery)) record(clock_.now());
}

void ClockCheck::compare() {
  wall_ = clock_.now();
  steady_ = clock_.steady();
  try {
    compare_with(store_.find_clock());
  } catch (...) {
    clock_.doubt(wall_);
    throw;
  }
}

void ClockCheck::compare_with(std::optional<Time> stored) {
  compared_ = true;
  // A server that is in doubt writes files, too. So a file does not make up for a stored time that is far away.
  std::optional<Time> newest = stored ? stored : rules_.newest_file;
  if (newest && rules_.newest_file && doubt_at_start(wall_, *newest).empty() && *rules_.newest_file > wall_)
    newest = rules_.newest_file;
  const std::string reason = newest ? doubt_at_start(wall_, *newest) : std::string();
  if (reason.empty()) return clock_.trust();
  const MutexLock lock(mutex_);
  begin_doubt(*newest, reason);
}

void ClockCheck::look_for_jump() {
  const Time before = wall_;
  const auto passed = clock_.steady() - steady_;
  wall_ = clock_.now();
  steady_ += passed;
  const auto by = (wall_ - before) - std::chrono::duration_cast<std::chrono::microseconds>(passed);
  const std::string reason = doubt_after_jump(by);
  if (reason.empty()) return;
  const MutexLock lock(mutex_);
  begin_doubt(before, reason);
}

void ClockCheck::review() {
  // The clocks of others are asked at the start and while there is a doubt: a jump of this one is noticed without them.
  if (clock_.trusted() && recorded_at_) return;
  const ClockDifferences differences = rules_.differences();
  const bool doubted = !clock_.trusted();
  const std::optional<Time> stored = doubted ? store_.find_clock() : std::nullopt;
  const MutexLock lock(mutex_);
  const std::string disagreement = doubt_about(differences, accepted_);
  if (!disagreement.empty()) return begin_doubt(wall_, disagreement);
  if (!doubted) return;
  const bool newer_file = rules_.newest_file && *rules_.newest_file - wall_ > kClockTolerance;
  const bool agrees = stored && doubt_at_start(wall_, *stored).empty() && !newer_file;
  if (!agrees && steady_ - consistent_since_ < rules_.confirm) return;
  clock_.trust();
  end_doubt("clock_trusted");
  recorded_at_.reset();
}

void ClockCheck::begin_doubt(Time last_trusted, const std::string& reason) {
  consistent_since_ = steady_;
  const std::string sentence = reason + ". Nothing expires until it has been consistent for " +
                               print_difference(rules_.confirm) +
                               ", or until the operator says that it is right: `restante clock accept`";
  if (doubt_.empty()) clock_.doubt(last_trusted);
  metrics_.clock_trusted.Set(0);
  if (std::exchange(doubt_, sentence) != sentence) log_.warn("clock_doubted", {{"reason", sentence}});
}

void ClockCheck::end_doubt(const char* event) {
  doubt_.clear();
  metrics_.clock_trusted.Set(1);
  log_.warn(event, {{"now", format_time(clock_.now())}});
}

void ClockCheck::record(Time now) {
  recorded_at_ = clock_.steady();
  (void)store_.record_clock(now);
}

std::string ClockCheck::accept() {
  const ClockDifferences differences = rules_.differences();
  (void)store_.record_clock(clock_.now()).take();
  const MutexLock lock(mutex_);
  accepted_ = differences;
  std::string was = doubt_;
  clock_.accept();
  if (!was.empty()) end_doubt("clock_accepted");
  return was;
}

std::string ClockCheck::doubt() const {
  const MutexLock lock(mutex_);
  return doubt_;
}

}  // namespace restante::desk
