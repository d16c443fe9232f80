#include <utility>

#include "desk/blob_moves.h"

namespace restante::desk {

using Copier = BlobMoveProgress::Copier;

// Whether it is this server's turn.
bool BlobMoves::may_work(const BlobMove& move) {
  if (works_on_ != move) lease_pause_until_.reset();  // the operator has said something: it is tried at once
  if (!is_able(move)) {
    give_up_lease();
    return false;
  }
  if (lease_pause_until_ && clock_.steady() < *lease_pause_until_) return false;
  lease_pause_until_.reset();
  return holds_lease();
}

// The old place is not asked for: what is in both places is turned back without it, and that may be why it is turned.
// Where something has to be read there and cannot be, that is an attempt that fails.
bool BlobMoves::is_able(const BlobMove& move) {
  const auto works = usable(move.to, [&] { places_.require_not_foreign(move.to); });
  const std::string reason(works ? std::string_view() : works.error().sentence());
  {
    const std::lock_guard lock(mutex_);
    if (reason == held_up_) return works.has_value();
    held_up_ = reason;
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
    const Time until = wall + std::chrono::duration_cast<std::chrono::microseconds>(rules_.lease);
    held = store_.hold_blob_move(self_, until, wall).take().value();
  }
  leased_until_ = held ? std::optional(now + rules_.lease) : std::nullopt;
  if (!held) forget_pass();
  const std::lock_guard lock(mutex_);
  copier_ = held ? Copier::here : Copier::elsewhere;
  return held;
}

void BlobMoves::give_up_lease() {
  {
    const std::lock_guard lock(mutex_);
    copier_ = Copier::nobody;
  }
  page_.clear();  // others change what is in it; where it goes on stays right
  if (!std::exchange(leased_until_, std::nullopt) || rules_.alone) return;
  const Time now = clock_.now();
  (void)store_.hold_blob_move(self_, now, now).take();
}

// Another server may be able to do what this one is not: it asks every few seconds. If there is none, or it fails as
// well, it is this one's turn again.
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
