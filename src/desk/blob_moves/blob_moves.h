// BlobMoves moves all blobs from one place to another while the servers run. The move is in the database, so it applies
// to every server: each reads it every second and writes new files where it says. One server at a time, by a lease,
// copies the remaining files. It verifies the digest while it copies and again by reading the copy back. Only then do
// the rows change. So a row never names a blob that was not read back, even if a server is killed at any time. A copy
// that no row needs is deleted, at the latest as an orphan. A server that cannot copy leaves the lease to the others.
// Only one thread at a time calls tick(); the other methods are thread-safe.
#pragma once
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "desk/blob_checks/blob_walk.h"
#include "desk/blob_checks/integrity.h"

namespace restante::desk {

struct BlobMoveRules {
  Place setting = Place::dir;                   // where new files go if no move was ever begun
  std::chrono::milliseconds look_every{1'000};  // how often to read whether another server has begun one
  std::chrono::milliseconds slice{1'000};       // work in one tick
  std::chrono::milliseconds lease{10'000};      // after so long another server may continue
  bool alone = false;                           // there is no other server: do not wait for a lease after a kill
  std::chrono::milliseconds rest{std::chrono::seconds(2)};  // when nothing is left, and after failed attempts
  int step = 32;                                            // blobs in one page, and in one write
  // After the end: requests that began before it may still write files to the old place; for so long they are moved,
  // too.
  std::chrono::milliseconds late_writes_for{std::chrono::minutes(10)};
  // Whether so many bytes can be written there without using the disk's reserve. Unset: always.
  std::function<bool(Place, std::int64_t)> has_room{};
};

struct BlobMoveProgress {
  enum class Copier { none, this_server, other_server };
  std::optional<BlobMove> move;  // in progress, else the last one
  std::vector<PlaceFigures> places;
  std::int64_t left_files = 0;  // not damaged, and only in the old place
  std::int64_t left_bytes = 0;
  std::int64_t copied_files = 0;  // by this server, since the move began
  std::int64_t copied_bytes = 0;
  std::int64_t failures = 0;
  std::string last_failure{};
  Copier copier = Copier::none;                    // as far as this server knows: it knows only if it has tried
  std::string held_up{};                           // why this server cannot copy
  std::optional<std::int64_t> bytes_per_second{};  // none if this server copies nothing
  std::optional<std::int64_t> seconds_left{};
};

class BlobMoves final : public BlobJob {
 public:
  // Reads where new files go, so construct it before the first upload. Throws Unavailable.
  BlobMoves(Store& store, Places& places, Integrity& integrity, const Clock& clock, Log& log, Metrics& metrics,
            BlobMoveRules rules);

  // Begins a move from the place where new files go now. The same move again changes its rate. A move back, while files
  // are written to both places, reverses it, and nothing is copied twice. Without `rate` the move in progress keeps its
  // rate. blob_place_unusable, also if a test file there cannot be read back or deleted; blob_move_under_way;
  // blob_move_needless.
  Result<BegunBlobMove> begin(Place to, std::optional<std::int64_t> rate);
  // Ends writing to the old place. An old blob is deleted after its new copy was read again. May be called again.
  // blob_move_unfinished while a file that is not damaged is only in the old place; blob_place_unusable; no_blob_move.
  Result<void> finish();
  BlobMoveProgress progress();
  Places& places() { return places_; }
  Place setting() const { return rules_.setting; }
  // A sentence if the settings name another place than the database; empty when they agree.
  std::string disagreement() const;

  // Reads the state of the move and works for one slice. Throws Unavailable; the next tick continues.
  void tick();

 private:
  enum class Copied { yes, no, stopped };
  enum class Twins { more, slower, wait, none };
  static constexpr int kFailuresInARow = 3;  // then it pauses

  void apply_stored_move() RESTANTE_EXCLUDES(applying_, mutex_);
  void log_disagreement();
  bool may_work(const BlobMove& move);
  bool can_copy(const BlobMove& move);
  bool holds_lease();
  void give_up_lease();
  void release_lease_if_failing();
  void succeeded();
  void count_failure();
  void work(const BlobMove& move);
  bool work_on_page(const BlobMove& move);
  bool end_pass(const BlobMove& move);
  void forget_pass();
  bool has_late_writes(const BlobMove& move);
  Twins give_up_twins(const BlobMove& move);
  std::optional<BlobKeys> without_twin(const BlobMove& move, const MovingBlob& blob);
  std::optional<BlobKeys> without_right_copy(const MovingBlob& blob);
  bool verify(const MovingBlob& blob, const std::string& key);
  void end(const BlobMove& move);
  Copied copy(const BlobMove& move, const MovingBlob& blob);
  void put_in_place(const BlobMove& move, const MovingBlob& blob, const std::string& key);
  void failed(const MovingBlob& blob, const std::string& reason) RESTANTE_EXCLUDES(mutex_);
  void suspect(const MovingBlob& blob);
  bool may_read(const BlobMove& move);
  bool has_room(const BlobMove& move, const MovingBlob& blob);
  void count_places() RESTANTE_EXCLUDES(mutex_);
  Result<void> usable(Place place, const std::function<void()>& check) const;

  Integrity& integrity_;
  const BlobMoveRules rules_;
  const WorkerId self_;

  Mutex applying_ RESTANTE_ACQUIRED_BEFORE(mutex_);      // so that an older read does not replace a newer one
  mutable Mutex mutex_;                                  // progress() runs on other threads than tick()
  BlobMoveProgress so_far_ RESTANTE_GUARDED_BY(mutex_);  // without what progress() computes
  std::optional<SteadyTime> copying_since_ RESTANTE_GUARDED_BY(mutex_);
  SteadyTime copied_at_ RESTANTE_GUARDED_BY(mutex_);
  std::optional<SteadyTime> counted_at_ RESTANTE_GUARDED_BY(mutex_);
  SteadyTime::duration counting_takes_ RESTANTE_GUARDED_BY(mutex_){};

  // Used only by tick().
  bool logged_ = false;
  SteadyTime applied_at_{};
  std::optional<SteadyTime> leased_until_;
  std::optional<SteadyTime> paused_until_;
  SteadyTime slice_ends_{};
  std::deque<MovingBlob> page_;
  std::string after_;
  struct Pass {
    bool met = false;
    bool failed = false;
  };
  Pass pass_;
  struct TwinPass {
    std::string after;
    bool met = false;
    bool undecided = false;  // for some it is not known which copy is right
  };
  TwinPass twins_;
  std::optional<BlobMove> settled_;  // no write can come to its old place any more
  std::optional<BlobMove> working_on_;
  int failed_in_a_row_ = 0;
  SteadyTime failing_since_{};
  bool fails_ = false;  // for longer than a lease, and without a success
  std::optional<SteadyTime> lease_pause_until_;
  std::optional<SteadyTime> allowed_at_;
  double allowance_ = 0;  // bytes; below zero: more was read than the rate allows
};

}  // namespace restante::desk
