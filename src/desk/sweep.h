// Sweep: files leave when they are due, and bytes leave after their rows. Acked rows after their retention, unacked
// ones past their time; then the bytes of rows that have left; then bytes that never had a row (a crash, a failed
// commit), once they have been found so for longer than any request can take. In bounded steps that let every other
// write in between. Nothing leaves by a wall clock that has just jumped. A place out of reach keeps what it has until
// it answers again, and the others are swept all the same. Thread-safe: one sweep at a time, the next one waits.
#pragma once
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/jump_guard.h"
#include "base/last_run.h"
#include "base/log.h"
#include "base/metrics.h"
#include "desk/upload_events.h"
#include "store/places.h"
#include "store/store.h"

namespace restante::desk {

struct SweepRules {
  std::chrono::seconds ack_retention{3'600};
  std::chrono::milliseconds every{std::chrono::minutes(5)};
  std::chrono::milliseconds orphan_grace{std::chrono::hours(1)};  // above the absolute deadline of an upload
  // What is read without a descriptor is dropped only when no request that reads it can be under way.
  std::chrono::milliseconds longest_request{std::chrono::minutes(30)};
  std::chrono::milliseconds patience{std::chrono::seconds(10)};  // for another sweep that is under way
  int step = 12;  // rows, or files, of one write: uploads may have to wait for it, about a millisecond
  // Beyond this many blobs the search for orphans is spread over several sweeps: asking for a million takes seconds.
  std::size_t look_at = 20'000;
};

struct SweepReport {
  std::int64_t acked = 0;
  std::int64_t expired = 0;
  std::int64_t blobs = 0;     // whose rows have left, now or before
  std::int64_t orphans = 0;   // that never had a row
  bool clock_jumped = false;  // what leaves by age has to wait
  std::chrono::milliseconds took{0};
};

class Sweep {
 public:
  Sweep(Store& store, Places& places, UploadEvents& events, const Clock& clock, Log& log, Metrics& metrics,
        SweepRules rules);

  // Every second or so: the first sweep at once, then one every period, and now and then the figures of what waits.
  void tick();
  // One whole sweep. sweep_running when another one does not end. Throws Unavailable, counted, in the end also for a
  // place that is written to and was out of reach; the next one goes on.
  Result<SweepReport> run_once();
  // The timer's and the operator's alike, without the looks in between.
  const LastRun& last_run() const { return last_run_; }
  // From any thread: a sweep that is under way ends after its step.
  void stop() { stopping_ = true; }

 private:
  void sweep_rows(SweepReport& report);
  void drop_blobs(SweepReport& report);
  void collect_orphans(SweepReport& report);
  void collect(const std::vector<std::string>& keys, SweepReport& report);
  void measure();
  void log_report(const SweepReport& report) const;
  void log_unreachable_places();
  void pause_for_writers(SteadyTime since) const;

  Store& store_;
  Places& places_;
  UploadEvents& events_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  const SweepRules rules_;
  std::atomic<bool> stopping_{false};
  LastRun last_run_;
  std::timed_mutex running_;  // the operator's sweep and the timer's come from different threads; the rest is under it
  JumpGuard guard_;
  std::optional<SteadyTime> swept_at_;
  std::optional<SteadyTime> measured_at_;
  Places::UnreachablePlaces unreachable_places_;  // by this sweep
  std::set<Place> logged_places_;                 // places that the sweeps before passed over, too
  std::string walk_from_;                         // where the search for orphans goes on
  std::uint64_t walk_ = 0;
  struct Suspect {
    SteadyTime since;
    std::uint64_t walk;  // that last met it; what a whole walk did not meet is gone
  };
  std::map<std::string, Suspect> suspects_;  // bytes without a row
};

}  // namespace restante::desk
