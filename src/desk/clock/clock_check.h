// ClockCheck decides whether the clock can be trusted, and says so to the Clock: while it is in doubt, nothing expires
// and nothing is deleted because of its age. The first tick compares the time with the newest time that is known from
// before the start, and with the clocks of the database and of the file system; every tick looks for a jump. The doubt
// ends when the clock has been consistent for a while, when it agrees with the store again, or when the operator
// accepts it. Only one thread at a time calls tick(); the other methods are thread-safe.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "model/clock_rules.h"
#include "store/server_clock.h"

namespace restante::desk {

struct ClockCheckRules {
  std::chrono::milliseconds confirm{std::chrono::minutes(10)};
  std::optional<Time> newest_file{};  // of the data, as the start found it
  std::function<ClockDifferences()> differences = [] { return ClockDifferences(); };
};

class ClockCheck {
 public:
  ClockCheck(ClockStore& store, Clock& clock, Log& log, Metrics& metrics, ClockCheckRules rules);

  // Once before anything is deleted, then about every second. Throws Unavailable; before the first comparison has
  // succeeded the clock is in doubt.
  void tick();
  // The operator says that the clock is right. Returns what was doubted; empty when nothing was. Throws Unavailable.
  std::string accept();
  // Why the clock is in doubt, for the operator; empty while it is trusted.
  std::string doubt() const;

 private:
  void compare();
  void compare_with(std::optional<Time> stored);
  void look_for_jump();
  void review();
  void begin_doubt(Time last_trusted, const std::string& reason) RESTANTE_REQUIRES(mutex_);
  void end_doubt(const char* event) RESTANTE_REQUIRES(mutex_);
  void record(Time now);

  ClockStore& store_;
  Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  const ClockCheckRules rules_;

  // From tick to tick.
  bool compared_ = false;
  Time wall_;
  SteadyTime steady_;
  std::optional<SteadyTime> recorded_at_;

  mutable Mutex mutex_;  // no store is called while it is held
  std::string doubt_ RESTANTE_GUARDED_BY(mutex_);
  SteadyTime consistent_since_ RESTANTE_GUARDED_BY(mutex_);
  ClockDifferences accepted_ RESTANTE_GUARDED_BY(mutex_);
};

}  // namespace restante::desk
