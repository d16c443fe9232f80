// Sweep deletes files that are due, and blobs after their rows. First it deletes acked rows after their retention and
// unacked rows past their time, then the blobs of deleted rows. Last it deletes orphans (after a crash or a failed
// commit): blobs that have had no row for longer than any upload can take (orphan_grace); the store keeps since when,
// so that a restart does not begin anew. It works in bounded steps, so that other writes can run between them. Nothing
// is deleted by age when the wall clock has just jumped. An unreachable place keeps its blobs until it answers again;
// the other places are swept nevertheless. Thread-safe: one sweep at a time, the next one waits.
#pragma once
#include <chrono>
#include <map>
#include <set>
#include <string>

#include "base/jump_guard.h"
#include "base/last_run.h"
#include "base/mutex.h"
#include "desk/blob_checks/blob_walk.h"
#include "desk/uploads/upload_events.h"

namespace restante::desk {

struct SweepRules {
  std::chrono::seconds ack_retention{3'600};
  std::chrono::milliseconds every{std::chrono::minutes(5)};
  std::chrono::milliseconds orphan_grace{std::chrono::hours(1)};  // longer than an upload may take
  // A blob in the database or in S3 is deleted only this long after its row: every request that was reading it has then
  // ended. (A file in a directory can be deleted while it is read.)
  std::chrono::milliseconds longest_request{std::chrono::minutes(30)};
  std::chrono::milliseconds patience{std::chrono::seconds(10)};  // how long to wait for another sweep
  int step = 12;  // rows, or files, in one write: an upload may wait for it, about a millisecond
  // With more blobs the search for orphans is spread over the time until the next sweep and over several sweeps: a
  // query for a million takes seconds.
  std::size_t look_at = 1'000;
};

struct SweepReport {
  std::int64_t acked = 0;
  std::int64_t expired = 0;
  std::int64_t blobs = 0;     // whose rows were deleted, now or before
  std::int64_t orphans = 0;   // that never had a row
  bool clock_jumped = false;  // nothing was deleted by age
  std::chrono::milliseconds took{0};
};

class Sweep final : public BlobJob {
 public:
  Sweep(Store& store, Places& places, UploadEvents& events, const Clock& clock, Log& log, Metrics& metrics,
        SweepRules rules);

  // Called about every second: the first sweep at once, then one every period. In between it updates the metrics and
  // looks for orphans from time to time.
  void tick();
  // One complete sweep. sweep_running when another one does not end. Throws Unavailable, which is counted. It throws at
  // the end, too, if a place that is written to could not be reached; the next sweep continues.
  Result<SweepReport> run_once();
  // The last sweep, by the timer or by the operator; ticks without a sweep do not count.
  const LastRun& last_run() const { return last_run_; }

 private:
  void sweep_rows(SweepReport& report) RESTANTE_REQUIRES(running_);
  void drop_blobs(SweepReport& report) RESTANTE_REQUIRES(running_);
  void collect_orphans(SweepReport& report) RESTANTE_REQUIRES(running_);
  void load_orphan_candidates() RESTANTE_REQUIRES(running_);
  void record(std::vector<OrphanCandidate> found, std::vector<std::string> gone);
  void collect(const std::vector<BlobWalk::Blob>& blobs, SweepReport& report) RESTANTE_REQUIRES(running_);
  // Between two sweeps.
  void go_on_collecting() RESTANTE_REQUIRES(running_);
  void measure() RESTANTE_REQUIRES(running_);
  void log_report(const SweepReport& report) const;
  void log_unreachable_places() RESTANTE_REQUIRES(running_);

  UploadEvents& events_;
  const SweepRules rules_;
  LastRun last_run_;
  TimedMutex running_;  // the operator's and the timer's sweep are two threads
  JumpGuard guard_ RESTANTE_GUARDED_BY(running_);
  std::optional<SteadyTime> swept_at_ RESTANTE_GUARDED_BY(running_);
  std::optional<SteadyTime> measured_at_ RESTANTE_GUARDED_BY(running_);
  Places::UnreachablePlaces unreachable_places_ RESTANTE_GUARDED_BY(running_);  // in this sweep
  // Places that earlier sweeps could not reach, too.
  std::set<Place> logged_places_ RESTANTE_GUARDED_BY(running_);
  BlobWalk walk_ RESTANTE_GUARDED_BY(running_);
  std::uint64_t walk_number_ RESTANTE_GUARDED_BY(running_) = 0;
  bool walking_ RESTANTE_GUARDED_BY(running_) = false;  // through all blobs, and not at their end
  struct Candidate {
    SteadyTime since;
    std::uint64_t walk;  // the last one that met it; a blob that a complete walk did not meet is deleted
  };
  std::map<std::string, Candidate> orphan_candidates_ RESTANTE_GUARDED_BY(running_);  // blobs without a row
  bool loaded_ RESTANTE_GUARDED_BY(running_) = false;                                 // the ones that are stored
};

}  // namespace restante::desk
