// StuckSweep ends or delivers delegations whose time is over. Past its deadline a task fails. A task that was picked up
// becomes stuck when its agent is silent for too long. A task goes to the inbox if a server died while it called the
// callback. After a start, or after the database was unreachable, no task becomes stuck for stuck_after: agents get
// that time to reconnect. Deadlines apply nevertheless. Nothing is decided when the wall clock has just jumped. The
// sweep also calls Delegations::pick_up(). One thread at a time; stop() and last_run() from any thread.
#pragma once
#include <atomic>
#include <chrono>
#include <optional>

#include "base/clock.h"
#include "base/jump_guard.h"
#include "base/last_run.h"
#include "base/log.h"
#include "base/metrics.h"
#include "desk/delegations/delegations.h"
#include "store/delegations.h"

namespace restante::desk {

struct StuckSweepRules {
  std::chrono::milliseconds stuck_after{600'000};
  std::chrono::milliseconds every{300'000};
  std::chrono::milliseconds undelivered_after{120'000};  // longer than a call to a callback takes
  bool alone = false;  // no other server: a call from before our start does not run any more
  int step = 50;       // rows in one write
};

struct StuckSweepReport {
  std::int64_t failed = 0;
  std::int64_t stuck = 0;
  std::int64_t delivered = 0;
  bool waiting = false;  // no task becomes stuck yet
};

class StuckSweep {
 public:
  StuckSweep(DelegationStore& store, Delegations& delegations, const Clock& clock, Log& log, Metrics& metrics,
             StuckSweepRules rules);

  // Called about every second: sweeps when that is due, and updates the metrics from time to time.
  void tick();
  // One complete sweep. Throws Unavailable, which is counted; after that the grace time begins again.
  StuckSweepReport run_once();
  // The last sweep; ticks without a sweep do not count.
  const LastRun& last_run() const { return last_run_; }
  // A running sweep ends after its current step.
  void stop() { stopping_ = true; }

 private:
  void sweep(StuckSweepReport& report);
  // A task whose agent gave no sign of life since then is stuck.
  Time silent_since(Time now, const StuckSweepReport& report) const;
  // A task that waits for its callback since before then goes to the inbox.
  Time undelivered_since(Time now) const;
  void count(const DelegationChange& change, StuckSweepReport& report);
  void measure();

  DelegationStore& store_;
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
