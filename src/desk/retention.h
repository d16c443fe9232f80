// Retention: rows of the log leave by age, in bounded steps that let every other write in between. A pass begins when
// the server starts and every hour, and is spread over as many ticks as it takes; no tick works longer than a second.
// Nothing is pruned by a wall clock that has just jumped. What may go is the store's rule: never what the agent has not
// consumed, before the ceiling. One thread at a time.
#pragma once
#include <chrono>

#include "base/clock.h"
#include "base/jump_guard.h"
#include "base/log.h"
#include "base/metrics.h"
#include "store/store.h"

namespace restante::desk {

struct RetentionRules {
  std::chrono::seconds keep{std::chrono::hours(90 * 24)};
  std::chrono::seconds ceiling{std::chrono::hours(365 * 24)};
  int step = 500;  // rows of one write
};

class Retention {
 public:
  Retention(Store& store, const Clock& clock, Log& log, Metrics& metrics, RetentionRules rules);

  // Works off what is due, if anything is. Throws Unavailable; the pass goes on with the next tick.
  void tick();

 private:
  Store& store_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  const RetentionRules rules_;
  JumpGuard guard_;
  bool passing_ = true;
  SteadyTime began_;
  std::int64_t gone_ = 0;  // in this pass
};

}  // namespace restante::desk
