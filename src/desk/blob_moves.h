// BlobMoves: bytes change over from one place to another while everything goes on. What the database says of it holds
// on every server: each looks every second and writes where it says. One server at a time, by a lease, copies what is
// left: it verifies the digest on the way and once more by reading the copy back, and only then do the rows change. So
// whatever is killed when, a row never names bytes that were not read. What is copied twice or for nothing is dropped,
// at the latest as an orphan. A server that cannot do it leaves the lease to the others. tick() belongs to one thread
// at a time, the rest is thread-safe.
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
#include "base/log.h"
#include "base/metrics.h"
#include "desk/integrity.h"
#include "store/places.h"
#include "store/store.h"

namespace restante::desk {

struct BlobMoveRules {
  Place setting = Place::dir;                   // where new bytes go if nothing was ever begun
  std::chrono::milliseconds look_every{1'000};  // whether another server has begun one
  std::chrono::milliseconds slice{1'000};       // of work in a tick
  std::chrono::milliseconds lease{10'000};      // until another server may go on
  bool alone = false;                           // there is no other server: nothing is waited for after a kill
  std::chrono::milliseconds rest{std::chrono::seconds(2)};  // once nothing is left, and between attempts that failed
  int step = 32;                                            // blobs of one page, and of one write
  // After the end: what requests that began before it still bring to the old place is fetched.
  std::chrono::milliseconds late_writes_for{std::chrono::minutes(10)};
  // Whether so many bytes may be written there and leave what is to stay free; unset: always.
  std::function<bool(Place, std::int64_t)> has_room{};
};

struct BlobMoveProgress {
  enum class Copier { nobody, here, elsewhere };
  std::optional<BlobMove> move;  // under way, or the last one
  std::vector<PlaceFigures> places;
  std::int64_t left_files = 0;  // that are sound and in the old place only
  std::int64_t left_bytes = 0;
  std::int64_t copied_files = 0;  // by this server, since it began
  std::int64_t copied_bytes = 0;
  std::int64_t failures = 0;
  std::string last_failure{};
  Copier copier = Copier::nobody;                  // as far as this server knows: who does not try does not know
  std::string held_up{};                           // why this server cannot be the one that copies
  std::optional<std::int64_t> bytes_per_second{};  // none where this server copies nothing
  std::optional<std::int64_t> seconds_left{};
};

class BlobMoves {
 public:
  // Reads where bytes are to go: before the first upload. Throws Unavailable.
  BlobMoves(Store& store, Places& places, Integrity& integrity, const Clock& clock, Log& log, Metrics& metrics,
            BlobMoveRules rules);

  // From where new bytes go now. The same again sets the rate; back while both are written turns it, and nothing is
  // copied twice. Without a rate that of the one under way stays. blob_place_unusable, also when what is written there
  // cannot be read or dropped; blob_move_under_way, blob_move_needless.
  Result<BegunBlobMove> begin(Place to, std::optional<std::int64_t> rate);
  // The old place is not written to any more, and what is there leaves, each once its copy was read again. Again is
  // fine. blob_move_unfinished while anything sound is in the old place only; blob_place_unusable; no_blob_move.
  Result<void> finish();
  BlobMoveProgress progress();
  Places& places() { return places_; }
  Place setting() const { return rules_.setting; }
  // What the settings say and the database does not; empty when they agree.
  std::string disagreement() const;

  // Looks what holds, and does a slice of what is to be done. Throws Unavailable; the next one goes on.
  void tick();
  // From any thread: what is under way ends after its piece.
  void stop() { stopping_ = true; }

 private:
  enum class Copied { yes, no, stopped };
  enum class Twins { more, slower, wait, none };
  static constexpr int kFailuresInARow = 3;  // then it rests

  void follow();
  void log_disagreement();
  bool may_work(const BlobMove& move);
  bool is_able(const BlobMove& move);
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
  std::optional<BlobKeys> with_neither(const MovingBlob& blob);
  bool verify(const MovingBlob& blob, const std::string& key);
  void end(const BlobMove& move);
  Copied copy(const BlobMove& move, const MovingBlob& blob);
  void put_in_place(const BlobMove& move, const MovingBlob& blob, const std::string& key);
  void failed(const MovingBlob& blob, const std::string& reason);
  void suspect(const MovingBlob& blob);
  bool may_read(const BlobMove& move);
  bool has_room(const BlobMove& move, const MovingBlob& blob);
  std::vector<PlaceFigures> figures();
  Result<void> usable(Place place, const std::function<void()>& check) const;

  Store& store_;
  Places& places_;
  Integrity& integrity_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  const BlobMoveRules rules_;
  const WorkerId self_;
  std::atomic<bool> stopping_{false};

  std::mutex following_;      // so that an older look does not undo what a newer one found
  mutable std::mutex mutex_;  // of what follows, for those who ask how far it is
  std::optional<BlobMove> move_;
  bool logged_ = false;
  std::int64_t copied_files_ = 0;
  std::int64_t copied_bytes_ = 0;
  std::int64_t failures_ = 0;
  std::string last_failure_;
  std::optional<SteadyTime> copying_since_;
  SteadyTime copied_at_;
  std::vector<PlaceFigures> figures_;
  std::optional<SteadyTime> counted_at_;
  SteadyTime::duration counting_takes_{};
  BlobMoveProgress::Copier copier_ = BlobMoveProgress::Copier::nobody;
  std::string held_up_;

  // The worker's, from tick to tick.
  SteadyTime looked_at_{};
  std::optional<SteadyTime> leased_until_;
  std::optional<SteadyTime> rests_until_;
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
    bool undecided = false;  // of some it is not known which copy is right
  };
  TwinPass twins_;
  std::optional<BlobMove> settled_;  // nothing can come to its old place any more
  std::optional<BlobMove> works_on_;
  int failed_in_a_row_ = 0;
  SteadyTime failing_since_{};
  bool fails_ = false;  // for longer than a lease, and with nothing that succeeded
  std::optional<SteadyTime> lease_pause_until_;
  std::optional<SteadyTime> allowed_at_;
  double allowance_ = 0;  // bytes; below zero: read ahead of its time
};

}  // namespace restante::desk
