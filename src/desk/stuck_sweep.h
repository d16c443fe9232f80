// StuckSweep: what time does to delegations. Past the deadline they fail, picked up and silent for too long they are
// stuck, and tasks that a server died over while asking a callback go to the inbox. Nobody is called silent by a server
// that has itself just come back, from a start or from a database that was gone: agents are given as long to return as
// they may be silent. A deadline is a deadline all the same. Nothing is decided by a wall clock that has just jumped.
// Also works off what was picked up. One thread at a time; stop() and last_run() from any.
#pragma once
#include <atomic>
#include <chrono>
#include <optional>

#include "base/clock.h"
#include "base/jump_guard.h"
#include "base/last_run.h"
#include "base/log.h"
#include "base/metrics.h"
#include "desk/delegations.h"
#include "store/store.h"

namespace restante::desk {

struct StuckSweepRules {
  std::chrono::milliseconds stuck_after{600'000};
  std::chrono::milliseconds every{300'000};
  std::chrono::milliseconds undelivered_after{120'000};  // longer than asking a callback takes
  bool alone = false;  // no other server: whatever callback was being asked before we started is not asked any more
  int step = 50;       // rows of one write
};

struct StuckSweepReport {
  std::int64_t failed = 0;
  std::int64_t stuck = 0;
  std::int64_t delivered = 0;
  bool waiting = false;  // nobody is called silent yet
};

class StuckSweep {
 public:
  StuckSweep(Store& store, Delegations& delegations, const Clock& clock, Log& log, Metrics& metrics,
             StuckSweepRules rules);

  // Every second or so: a sweep when one is due, and now and then the figures.
  void tick();
  // One whole sweep. Throws Unavailable, counted; the grace then begins anew.
  StuckSweepReport run_once();
  // Of a sweep, without the looks in between.
  const LastRun& last_run() const { return last_run_; }
  // A sweep that is under way ends after its step.
  void stop() { stopping_ = true; }

 private:
  void sweep(StuckSweepReport& report);
  // Whoever was not heard of since then is stuck.
  Time silent_since(Time now, const StuckSweepReport& report) const;
  // Whatever was to go to a callback before then goes to the inbox.
  Time undelivered_since(Time now) const;
  void count(const DelegationChange& change, StuckSweepReport& report);
  void measure();

  Store& store_;
  Delegations& delegations_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  const StuckSweepRules rules_;
  std::atomic<bool> stopping_{false};
  LastRun last_run_;
  JumpGuard guard_;
  const Time started_at_;
  SteadyTime back_since_;
  std::optional<SteadyTime> swept_at_;
  std::optional<SteadyTime> measured_at_;
  bool caught_up_ = false;
};

}  // namespace restante::desk
