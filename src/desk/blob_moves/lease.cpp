#include <utility>

#include "desk/blob_moves/blob_moves.h"

namespace restante::desk {

using Copier = BlobMoveProgress::Copier;

// Whether this server is to work on the move now.
bool BlobMoves::may_work(const BlobMove& move) {
  if (working_on_ != move) lease_pause_until_.reset();  // the operator has changed the move: try at once
  if (!can_copy(move)) {
    give_up_lease();
    return false;
  }
  if (lease_pause_until_ && clock_.steady() < *lease_pause_until_) return false;
  lease_pause_until_.reset();
  return holds_lease();
}

// The old place is not required. A move can be reversed without it where both places have the files, and a failing old
// place may be the reason to reverse it. If a file must be read there and cannot be, that attempt fails.
bool BlobMoves::can_copy(const BlobMove& move) {
  const auto works = usable(move.to, [&] { places_.require_not_foreign(move.to); });
  const std::string reason(works ? std::string_view() : works.error().sentence());
  {
    const MutexLock lock(mutex_);
    if (reason == so_far_.held_up) return works.has_value();
    so_far_.held_up = reason;
  }
  if (!works) {
    log_.warn("blob_move_held_up", {{"from", name_of(move.from)}, {"to", name_of(move.to)}, {"reason", reason}});
  }
  return works.has_value();
}

bool BlobMoves::holds_lease() {
  const SteadyTime now = clock_.steady();
  if (leased_until_ && now + rules_.lease / 2 < *leased_until_) return true;
  bool held = rules_.alone;
  if (!held) {
    const Time wall = clock_.now();
    held = store_.take_blob_move_lease(self_, wall + rules_.lease, wall).take().value();
  }
  leased_until_ = held ? std::optional(now + rules_.lease) : std::nullopt;
  if (!held) forget_pass();
  const MutexLock lock(mutex_);
  so_far_.copier = held ? Copier::this_server : Copier::other_server;
  return held;
}

void BlobMoves::give_up_lease() {
  {
    const MutexLock lock(mutex_);
    so_far_.copier = Copier::none;
  }
  page_.clear();  // other servers change these rows; after_ stays right
  if (!std::exchange(leased_until_, std::nullopt) || rules_.alone) return;
  const Time now = clock_.now();
  (void)store_.take_blob_move_lease(self_, now, now).take();
}

// Another server may be able to do what this one cannot; every server tries to get the lease every few seconds. If
// there is no other server, or it fails as well, this one tries again.
void BlobMoves::release_lease_if_failing() {
  if (!std::exchange(fails_, false) || rules_.alone) return;
  failed_in_a_row_ = 0;
  lease_pause_until_ = clock_.steady() + 2 * rules_.lease;
  log_.info("blob_move_left_to_others", {{"reason", "every attempt of this server has failed"}});
  give_up_lease();
}

void BlobMoves::succeeded() {
  failed_in_a_row_ = 0;
  fails_ = false;
}

void BlobMoves::count_failure() {
  const SteadyTime now = clock_.steady();
  if (failed_in_a_row_++ == 0) failing_since_ = now;
  fails_ = failed_in_a_row_ >= kFailuresInARow && now - failing_since_ >= rules_.lease;
}

}  // namespace restante::desk
