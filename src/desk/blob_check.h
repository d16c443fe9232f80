// BlobCheck: goes once through everything that is kept, on the operator's word, and says what is wrong: rows whose
// bytes are missing or others, in whichever place, bytes that no row knows, uploads that were begun and never finished.
// Asked to mend, it drops what nobody needs, makes a wrong copy anew from its twin, and where there is no right one
// marks the file and tells, as Integrity does; else it changes nothing. What it could not look at or mend is a finding,
// too, so that nothing is called well that nobody has seen. One at a time. tick() does the work, in slices and for half
// of the time at most; it belongs to one thread at a time, the rest is thread-safe.
#pragma once
#include <array>
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
  // Whether so many bytes may be written there and leave what is to stay free; unset: always.
  std::function<bool(Place, std::int64_t)> has_room{};
};

// out_of_reach is a whole place, of which only what rows say was looked for.
enum class BlobFault { missing, changed, unreadable, orphan, unfinished, out_of_reach };
inline constexpr std::array kBlobFaults = {BlobFault::missing, BlobFault::changed,    BlobFault::unreadable,
                                           BlobFault::orphan,  BlobFault::unfinished, BlobFault::out_of_reach};
std::string_view name_of(BlobFault fault);

// What was done about it: nothing, the file is known to be damaged, it was made anew, it was dropped.
enum class BlobRemedy { none, told, restored, dropped };
std::string_view name_of(BlobRemedy remedy);

struct BlobFinding {
  BlobFault fault = BlobFault::missing;
  BlobRemedy remedy = BlobRemedy::none;
  std::string blob;              // its key; empty: the row keeps the bytes, or it is a whole place
  std::optional<Upload> upload;  // none: no row knows it
  std::string reason{};          // why it could not be read, reached or mended
  std::optional<Place> place{};  // that is out of reach
};

struct BlobCheckReport {
  enum class State { none, running, done, stopped, failed };
  State state = State::none;
  bool mend = false;
  std::optional<Time> started_at;
  std::optional<Time> ended_at;
  std::int64_t files = 0;      // looked at
  std::int64_t all_files = 0;  // that there were at the beginning
  std::int64_t blobs = 0;      // looked at in the places, once all files were
  std::int64_t bytes = 0;      // read
  std::array<std::int64_t, kBlobFaults.size()> found{};
  std::int64_t mended = 0;
  std::vector<BlobFinding> findings{};
  std::string reason{};  // why it failed, or what holds it up

  std::int64_t wrong() const;  // and not mended
};
std::string_view name_of(BlobCheckReport::State state);

class BlobCheck {
 public:
  enum class Mend { no, yes };

  BlobCheck(Store& store, Places& places, Integrity& integrity, const Clock& clock, Log& log, Metrics& metrics,
            BlobCheckRules rules);

  // blob_check_running. Returns at once: the ticks do it.
  Result<BlobCheckReport> start(Mend mend);
  // Of the one under way, or the last one.
  BlobCheckReport report() const;
  // Goes on with what was started. Throws Unavailable; the next one goes on.
  void tick();
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

  void begin(Mend mend);
  void end(BlobCheckReport::State state, std::string reason = {});
  bool step();
  bool look_at_next_row();
  void look_at(const Upload& listed);
  void look_at_row(const Upload& upload);
  void look_at_copies(const Upload& upload);
  BlobRemedy judge(const Upload& upload, const std::vector<Looked>& wrong, bool has_right);
  static BlobFault fault_of(Copy copy);
  Copy verify(const std::string& key, const Upload& upload, std::string& why);
  std::optional<Digest> digest_of(OpenBlob& blob, std::int64_t size);
  bool is_still(const Upload& upload);
  void count_bytes(std::size_t bytes);
  void found(BlobFinding finding);
  BlobRemedy condemn(const Upload& upload, UploadDamage damage);
  BlobRemedy mend(const Upload& upload, const Looked& one, const std::vector<Looked>& wrong, const std::string* right,
                  std::string& why);
  BlobRemedy restore(const Upload& upload, const std::string& wrong, const std::string& right, std::string& why);
  bool look_for_orphans();
  void look_for_unfinished();
  void tell_passed_over();
  void give_way(SteadyTime since) const;
  Time grown_up() const { return clock_.now() - std::chrono::duration_cast<std::chrono::microseconds>(rules_.grace); }

  Store& store_;
  Places& places_;
  Integrity& integrity_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  const BlobCheckRules rules_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;  // of the report: the operator's questions come from other threads
  BlobCheckReport report_;

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
  Places::OutOfReach passed_over_;
};

}  // namespace restante::desk
