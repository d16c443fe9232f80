// BlobCheck checks all stored files once, when the operator asks for it. It finds rows whose content is missing or
// changed in any place, blobs that no row names, and unfinished uploads. With Mend::yes it deletes blobs that no row
// needs and replaces a wrong copy from the second copy; where no copy is right it marks the file as damaged and
// notifies the sender, as Integrity does. With Mend::no it changes nothing. A file that it could not check or repair is
// a finding, too. One check runs at a time on all servers. Its findings and its lease are in the store; the lease shows
// whether its server is alive. tick() works in slices, for at most half of the time. Only one thread at a time calls
// tick(); the other methods are thread-safe.
#pragma once
#include <chrono>
#include <functional>
#include <string>

#include "base/jump_guard.h"
#include "base/mutex.h"
#include "desk/blob_checks/blob_walk.h"
#include "desk/blob_checks/integrity.h"
#include "desk/blob_checks/report.h"

namespace restante::desk {

struct BlobCheckRules {
  std::chrono::milliseconds grace{std::chrono::hours(1)};    // longer than any request: a younger blob may get a row
  std::chrono::milliseconds slice{std::chrono::seconds(1)};  // work in one tick
  std::size_t findings = 1'000;                              // kept with their details; all are counted
  int attempts = 10;                                         // ticks in a row that throw before the check fails
  int row_attempts = 3;                                      // tries to read a row before it is skipped
  std::chrono::milliseconds lease{15'000};                   // a server without a beat for so long has stopped
  bool alone = false;                                        // no other server uses this store
  // Whether so many bytes can be written there without using the disk's reserve. Unset: always.
  std::function<bool(Place, std::int64_t)> has_room{};
};

class BlobCheck final : public BlobJob {
 public:
  enum class Mend { no, yes };

  BlobCheck(Store& store, Places& places, Integrity& integrity, const Clock& clock, Log& log, Metrics& metrics,
            BlobCheckRules rules);

  // blob_check_running if one runs. Returns at once; the ticks do the work. Throws Unavailable.
  Result<BlobCheckReport> start(Mend mend);
  // The report of the running check, else of the last one, on any server. Throws Unavailable.
  BlobCheckReport report();
  // Continues the check that was started here; after stop() the check ends. Throws Unavailable; the next tick
  // continues.
  void tick();
  // Saves progress and renews the lease, unless that was done a moment ago. Needed because a tick may work on one file
  // for a long time. Throws Unavailable.
  void beat();
  // Call it after the last tick. Ends a check that runs here as stopped, so that no other server waits for its lease.
  // Throws Unavailable.
  void release();

 private:
  enum class Phase { rows, places, unfinished };

  bool is_alive(const BlobCheckRow& row) const;
  void begin(Mend mend);
  void end(BlobCheckReport::State state, std::string reason = {}) RESTANTE_EXCLUDES(saving_, mutex_);
  void give_up() RESTANTE_EXCLUDES(saving_, mutex_);
  void save_progress() RESTANTE_EXCLUDES(saving_, mutex_);
  void progress_saved(const BlobCheckReport& report, bool kept) RESTANTE_REQUIRES(saving_) RESTANTE_EXCLUDES(mutex_);
  BlobCheckReport::State work();
  bool step();
  bool check_next_row();
  void check_upload(const Upload& listed);
  void add_finding(BlobFinding finding) RESTANTE_EXCLUDES(mutex_);
  BlobRemedy report_damage(const Upload& upload, UploadDamage damage);
  BlobRemedy mend(const FileReading& file, const CheckedCopy& wrong, std::string& why);
  BlobRemedy restore(const Upload& upload, const std::string& wrong, const std::string& right, std::string& why);
  bool find_orphans();
  void find_unfinished();
  void report_unreachable_places();
  Time orphan_cutoff() const { return clock_.now() - rules_.grace; }

  Integrity& integrity_;
  const BlobCheckRules rules_;
  const WorkerId self_;
  std::atomic<bool> lost_{false};  // the lease was lost: another check has begun, here or on another server
  // Tick and beat are two threads: this keeps saved progress in order.
  Mutex saving_ RESTANTE_ACQUIRED_BEFORE(mutex_);
  mutable Mutex mutex_;  // beat() and report() run on other threads than tick()
  // Of the check this server runs, until its end has been saved; else empty.
  BlobCheckReport report_ RESTANTE_GUARDED_BY(mutex_);
  std::size_t named_ RESTANTE_GUARDED_BY(mutex_) = 0;  // findings that are in the store
  SteadyTime saved_at_ RESTANTE_GUARDED_BY(mutex_);

  // The position in the check, from tick to tick.
  JumpGuard guard_;
  bool begun_ = false;
  Phase phase_ = Phase::rows;
  Mend mend_ = Mend::no;
  BlobWalk walk_;
  int failures_ = 0;
  int row_failures_ = 0;  // of the next row
  Places::UnreachablePlaces unreachable_places_;
};

}  // namespace restante::desk
