// BlobCheck: goes once through everything that is kept, on the operator's word, and says what is wrong: rows whose
// bytes are missing or others, in whichever place, bytes that no row knows, uploads that were begun and never finished.
// Asked to mend, it drops what nobody needs, makes a wrong copy anew from its twin, and where there is no right one
// marks the file and tells, as Integrity does; else it changes nothing. What it could not look at or mend is a finding,
// too, so that nothing is called well that nobody has seen. One at a time, of all servers; what it has found so far is
// in the store, for all of them, and so is a lease that tells whether the one that does it lives. tick() does the work,
// in slices and for half of the time at most; it belongs to one thread at a time, the rest is thread-safe.
#pragma once
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/jump_guard.h"
#include "base/log.h"
#include "base/metrics.h"
#include "desk/blob_check_report.h"
#include "desk/integrity.h"
#include "store/places.h"
#include "store/store.h"

namespace restante::desk {

struct BlobCheckRules {
  std::chrono::milliseconds grace{std::chrono::hours(1)};    // above the longest request: younger bytes await their row
  std::chrono::milliseconds slice{std::chrono::seconds(1)};  // of work in a tick
  std::size_t findings = 1'000;                              // that are kept with their names; all are counted
  int attempts = 10;                                         // ticks in a row that throw before it is given up
  int looks = 3;                                             // at a row that cannot be read, before it is passed over
  std::chrono::milliseconds lease{15'000};                   // until a server that says nothing counts as gone
  bool alone = false;                                        // no other server has this store: none but this one lives
  // Whether so many bytes may be written there and leave what is to stay free; unset: always.
  std::function<bool(Place, std::int64_t)> has_room{};
};

class BlobCheck {
 public:
  enum class Mend { no, yes };

  BlobCheck(Store& store, Places& places, Integrity& integrity, const Clock& clock, Log& log, Metrics& metrics,
            BlobCheckRules rules);

  // blob_check_running. Returns at once: the ticks do it. Throws Unavailable.
  Result<BlobCheckReport> start(Mend mend);
  // Of the one under way, or the last one, on whichever server. Throws Unavailable.
  BlobCheckReport report();
  // Goes on with what was started here. Throws Unavailable; the next one goes on.
  void tick();
  // Tells how far it is, and that it lives, unless that was told just now: a tick may be at one file for long. Throws
  // Unavailable.
  void beat();
  // Once there are no ticks any more: one that is under way here has been stopped, and nobody need wait for its lease.
  // Throws Unavailable.
  void release();
  // From any thread: a tick that is under way ends after its piece, and the check with it.
  void stop() { stopping_ = true; }

 private:
  enum class Copy { sound, missing, changed, unreadable, not_looked_at };
  enum class Phase { rows, places, unfinished };

  struct Looked {
    std::string key;
    Copy copy;
    std::string why;
  };

  bool lives(const BlobCheckRow& row) const;
  void begin(Mend mend);
  void end(BlobCheckReport::State state, std::string reason = {});
  void give_up();
  void save_progress();
  void progress_saved(const BlobCheckReport& report, bool kept);
  BlobCheckReport::State work();
  bool step();
  bool look_at_next_row();
  void look_at(const Upload& listed);
  void look_at_row(const Upload& upload);
  void look_at_copies(const Upload& upload);
  BlobRemedy judge(const Upload& upload, const std::vector<Looked>& wrong, bool has_right);
  static BlobFault fault_of(Copy copy);
  Copy verify(const std::string& key, const Upload& upload, std::string& why);
  bool reads_as(OpenBlob& blob, const Upload& upload);
  bool is_still(const Upload& upload);
  void count_bytes(std::size_t bytes);
  void found(BlobFinding finding);
  BlobRemedy report_damage(const Upload& upload, UploadDamage damage);
  BlobRemedy mend(const Upload& upload, const Looked& one, const std::vector<Looked>& wrong, const std::string* right,
                  std::string& why);
  BlobRemedy restore(const Upload& upload, const std::string& wrong, const std::string& right, std::string& why);
  bool look_for_orphans();
  void look_for_unfinished();
  void log_unreachable_places();
  void pause_for_writers(SteadyTime since) const;
  Time::duration lease() const { return std::chrono::duration_cast<Time::duration>(rules_.lease); }
  Time orphan_cutoff() const {
    return clock_.now() - std::chrono::duration_cast<std::chrono::microseconds>(rules_.grace);
  }

  Store& store_;
  Places& places_;
  Integrity& integrity_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  const BlobCheckRules rules_;
  const WorkerId self_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> lost_{false};  // it is another server's, or another one's that began here
  std::mutex saving_;              // what is told later was found later, though tick and beat are of two threads
  mutable std::mutex mutex_;       // of what follows: beat and the operator's questions come from other threads
  BlobCheckReport report_;         // of the one this server does, until its end has been told; else of none
  std::size_t named_ = 0;          // of its findings, that are in the store
  SteadyTime saved_at_;

  // The walk, from tick to tick.
  JumpGuard guard_;
  bool begun_ = false;
  Phase phase_ = Phase::rows;
  Mend mend_ = Mend::no;
  std::optional<FileId> after_;
  std::deque<Upload> page_;
  std::string from_;
  int failures_ = 0;
  int row_failures_ = 0;  // of the row that is next
  Places::UnreachablePlaces unreachable_places_;
};

}  // namespace restante::desk
