#include "desk/blob_moves/blob_moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "desk/blob_moves/blob_copy.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

constexpr auto kCountAtMostEvery = std::chrono::seconds(1);

std::int64_t left_in(const PlaceFigures& of) { return of.files - of.damaged_files; }

const PlaceFigures& of_place(const std::vector<PlaceFigures>& all, Place place) {
  return *std::ranges::find(all, place, &PlaceFigures::place);
}

PlacePlan plan_for(const std::optional<BlobMove>& move, Place setting) {
  if (!move) return {setting, {}};
  if (move->phase == BlobPhase::both) return {move->to, move->from};
  return {move->to, {}};
}

std::string what_to_set(Place place) {
  if (place == Place::s3) return "set s3.endpoint, s3.bucket and its credentials, and start again";
  if (place == Place::dir) return "set blobs = \"dir\", or make the directory \"blobs\" in its data, and start again";
  return "start it with a database of this version";
}

bool is_in(Place place, const std::string& key) {
  const auto placed = parse_key(key);
  return !key.empty() && placed && placed->place == place;  // an empty key would parse as a key in "dir"
}

}  // namespace

BlobMoves::BlobMoves(Store& store, Places& places, Integrity& integrity, const Clock& clock, Log& log, Metrics& metrics,
                     BlobMoveRules rules)
    : BlobJob(store, places, clock, log, metrics),
      integrity_(integrity),
      rules_(std::move(rules)),
      self_(WorkerId::make(clock.now())) {
  apply_stored_move();
}

Result<void> BlobMoves::usable(Place place, const std::function<void()>& check) const {
  const std::string name(name_of(place));
  const auto unusable = [&](const std::string& reason) {
    return Error(errors::blob_place_unusable, {{"place", name}}).with_sentence(reason);
  };
  if (!places_.has(place)) {
    return unusable(fmt::format("this server is not set up for files in \"{}\": {}", name, what_to_set(place)));
  }
  try {
    check();
  } catch (const Unavailable& e) {
    return unusable(fmt::format("files cannot be stored in \"{}\" now: {}", name, e.what()));
  }
  return {};
}

Result<BegunBlobMove> BlobMoves::begin(Place to, std::optional<std::int64_t> rate) {
  const auto works = usable(to, [&] {
    places_.check(to);
    test_place(places_, to);
  });
  if (!works) return works.error();
  const auto known = store_.find_blob_move();
  const bool under_way = known && known->phase != BlobPhase::finished;
  Place from = under_way ? known->from : plan_for(known, rules_.setting).write;
  if (from == to && !under_way) {
    // New files go there already. Files that an earlier setting put into another place can still be moved.
    const auto counted = store_.count_blobs();
    const auto most =
        std::ranges::max(counted, {}, [&](const PlaceFigures& of) { return of.place == to ? -1 : of.files; });
    if (most.files == 0) return errors::blob_move_needless;
    from = most.place;
  }
  const std::int64_t kept = under_way ? known->rate : 0;
  auto begun = store_.begin_blob_move(from, to, rate.value_or(kept), clock_.now()).take();
  if (!begun) return begun;
  if (begun->step != BegunBlobMove::Step::repeated) {
    log_.info(begun->step == BegunBlobMove::Step::begun ? "blob_move_begun" : "blob_move_turned",
              {{"from", name_of(begun->move.from)}, {"to", name_of(begun->move.to)}, {"rate", begun->move.rate}});
  }
  apply_stored_move();
  return begun;
}

Result<void> BlobMoves::finish() {
  const auto move = store_.find_blob_move();
  if (!move) return errors::no_blob_move;
  if (move->phase != BlobPhase::both) return {};
  const PlaceFigures old = of_place(store_.count_blobs(), move->from);
  if (const auto left = left_in(old); left > 0) {
    const std::int64_t bytes = old.bytes - old.damaged_bytes;
    return Error(errors::blob_move_unfinished, {{"files", left}, {"bytes", bytes}})
        .with_sentence(
            fmt::format("{} not in \"{}\" yet ({} bytes); {} being copied, and until then the blob move can be "
                        "reversed",
                        left == 1 ? "1 file is" : fmt::format("{} files are", left), name_of(move->to), bytes,
                        left == 1 ? "it is" : "they are"));
  }
  if (auto works = usable(move->to, [&] { places_.check(move->to); }); !works) return works;
  if (store_.advance_blob_move(*move, BlobPhase::finishing, clock_.now()).take().value()) {
    log_.info("blob_move_finishing", {{"from", name_of(move->from)}, {"to", name_of(move->to)}});
  }
  apply_stored_move();
  return {};
}

void BlobMoves::apply_stored_move() {
  const MutexLock applying_lock(applying_);
  const auto found = store_.uploads_ready() ? store_.find_blob_move() : std::nullopt;
  const PlacePlan plan = plan_for(found, rules_.setting);
  if (places_.plan() != plan) {
    log_.info("blobs_go_to", {{"place", name_of(plan.write)}, {"also", plan.also ? name_of(*plan.also) : ""}});
    places_.set_plan(plan);
  }
  const MutexLock lock(mutex_);
  const auto& known = so_far_.move;
  const bool another = found.has_value() != known.has_value() ||
                       (found && (found->begun_at != known->begun_at || found->from != known->from));
  if (another) {
    so_far_.copied_files = so_far_.copied_bytes = so_far_.failures = 0;
    so_far_.last_failure.clear();
    so_far_.held_up.clear();
    copying_since_.reset();
    counted_at_.reset();
  }
  if (found != known) counted_at_.reset();
  so_far_.move = found;
}

std::string BlobMoves::disagreement() const {
  const MutexLock lock(mutex_);
  const auto& move = so_far_.move;
  if (!move || move->phase != BlobPhase::finished || move->to == rules_.setting) return {};
  return fmt::format("blobs = \"{}\" is set, but files were moved to \"{}\" and are stored there: set blobs = \"{}\"",
                     name_of(rules_.setting), name_of(move->to), name_of(move->to));
}

void BlobMoves::log_disagreement() {
  const std::string sentence = disagreement();
  if (sentence.empty() || std::exchange(logged_, true)) return;
  log_.warn("blobs_set_otherwise", {{"sentence", sentence}});
}

void BlobMoves::tick() {
  const SteadyTime now = clock_.steady();
  if (now - applied_at_ >= rules_.look_every) {
    applied_at_ = now;
    apply_stored_move();
    log_disagreement();
  }
  std::optional<BlobMove> move;
  {
    const MutexLock lock(mutex_);
    move = so_far_.move;
  }
  if (!move || stopping_ || (paused_until_ && now < *paused_until_)) return;
  paused_until_ = now + rules_.rest;  // in case it throws, or another server works on it
  if (move->phase == BlobPhase::finished && !has_late_writes(*move)) return;
  if (!may_work(*move)) return;
  paused_until_.reset();
  work(*move);
  release_lease_if_failing();
  count_places();
}

// A request that began under the old plan may end long after the blob move, but not after late_writes_for.
bool BlobMoves::has_late_writes(const BlobMove& move) {
  if (settled_ == move) return false;
  const bool over = clock_.expiry_time() - move.phase_at > rules_.late_writes_for;
  const bool found = !store_.list_blobs(KeyRole::first, move.from, "", 1).empty() ||
                     !store_.list_blobs(KeyRole::twin, move.from, "", 1).empty();
  if (over && !found) settled_ = move;
  return found;
}

void BlobMoves::forget_pass() {
  page_.clear();
  after_.clear();
  pass_ = {};
  twins_ = {};
}

void BlobMoves::work(const BlobMove& move) {
  // Another direction or phase: the findings for the last one do not apply.
  if (std::exchange(working_on_, move) != move) forget_pass();
  slice_ends_ = std::chrono::steady_clock::now() + rules_.slice;
  while (!stopping_ && std::chrono::steady_clock::now() < slice_ends_) {
    if (page_.empty()) {
      auto next = store_.list_blobs(KeyRole::first, move.from, after_, rules_.step);
      page_.assign(std::make_move_iterator(next.begin()), std::make_move_iterator(next.end()));
    }
    pass_.met = pass_.met || !page_.empty();
    if (!(page_.empty() ? end_pass(move) : work_on_page(move))) return;
  }
}

// False when it has to wait.
bool BlobMoves::work_on_page(const BlobMove& move) {
  std::vector<BlobChange> swaps;
  for (; !page_.empty() && is_in(move.to, page_.front().keys.twin); page_.pop_front()) {
    const BlobKeys& keys = page_.front().keys;
    after_ = keys.key;
    swaps.push_back({keys, {keys.twin, keys.key}});
  }
  if (!swaps.empty()) {
    (void)store_.change_blob_keys(std::move(swaps), clock_.now()).take();
    succeeded();
    return true;
  }
  if (!may_read(move)) return false;
  const MovingBlob blob = page_.front();
  const bool room = has_room(move, blob);
  const Copied copied = room ? copy(move, blob) : Copied::no;
  if (copied == Copied::stopped) return false;
  page_.pop_front();
  after_ = blob.keys.key;
  if (copied == Copied::yes) {
    succeeded();
    return true;
  }
  // Skipped until the next pass. If the place as a whole fails, a pause is needed.
  pass_.failed = true;
  count_failure();
  if (room && failed_in_a_row_ < kFailuresInARow) return true;
  paused_until_ = clock_.steady() + rules_.rest;
  return false;
}

// One pass over the old place has ended. A server that had not yet read the new plan may have written there meanwhile;
// the next pass finds such files. Passes are repeated as long as a server runs.
bool BlobMoves::end_pass(const BlobMove& move) {
  after_.clear();
  const Pass pass = std::exchange(pass_, {});
  if (move.phase != BlobPhase::both) {
    const Twins twins = give_up_twins(move);
    if (twins == Twins::more) return true;
    if (twins == Twins::slower) return false;
    if (twins == Twins::none && pass.met && !pass.failed) return true;
    if (twins == Twins::none && !pass.met && move.phase == BlobPhase::finishing) end(move);
  }
  paused_until_ = clock_.steady() + rules_.rest;
  return false;
}

void BlobMoves::end(const BlobMove& move) {
  if (!store_.advance_blob_move(move, BlobPhase::finished, clock_.now()).take().value()) return;
  log_.info("blob_move_finished", {{"from", name_of(move.from)}, {"to", name_of(move.to)}});
  apply_stored_move();
}

// Unused allowance is not saved for later; what was read too much is paid back by waiting.
bool BlobMoves::may_read(const BlobMove& move) {
  const SteadyTime now = clock_.steady();
  const SteadyTime before = std::exchange(allowed_at_, now).value_or(now - std::chrono::seconds(1));
  if (move.rate == 0) {
    allowance_ = 0;
    return true;
  }
  const auto rate = static_cast<double>(move.rate);
  allowance_ = std::min(rate, allowance_ + rate * std::chrono::duration<double>(now - before).count());
  return allowance_ > 0;
}

bool BlobMoves::has_room(const BlobMove& move, const MovingBlob& blob) {
  if (!rules_.has_room || rules_.has_room(move.to, blob.size)) return true;
  failed(blob, "the disk is down to its reserve (storage.reserve): free some space, or set a smaller reserve");
  return false;
}

BlobMoves::Copied BlobMoves::copy(const BlobMove& move, const MovingBlob& blob) {
  std::optional<std::string> copy;
  bool sound = false;
  try {
    copy = write_copy(places_, blob, move.to, stopping_,
                      [this](std::size_t read) { allowance_ -= static_cast<double>(read); });
    sound = copy && verify(blob, *copy);
    if (copy && !sound) {
      places_.drop_unreferenced(*copy);
      if (!stopping_) throw Unavailable("the place returned other content than was written");
    }
  } catch (const Unavailable& e) {
    failed(blob, e.what());
    return Copied::no;
  }
  if (sound) {
    put_in_place(move, blob, *copy);
    return Copied::yes;
  }
  if (stopping_) return Copied::stopped;
  suspect(blob);
  return Copied::no;
}

void BlobMoves::put_in_place(const BlobMove& move, const MovingBlob& blob, const std::string& key) {
  const BlobKeys is{key, move.phase == BlobPhase::both ? blob.keys.key : std::string()};
  const auto rows = store_.change_blob_keys({{blob.keys, is}}, clock_.now()).take().value();
  if (rows == 0) {  // they were deleted, or another server was faster
    try {
      places_.drop_unreferenced(key);
    } catch (const Unavailable&) {  // NOLINT(bugprone-empty-catch): an orphan, which the sweep collects
    }
    return;
  }
  metrics_.blob_move_files.Increment();
  metrics_.blob_move_bytes.Increment(static_cast<double>(blob.size));
  const SteadyTime now = std::chrono::steady_clock::now();
  const MutexLock lock(mutex_);
  ++so_far_.copied_files;
  so_far_.copied_bytes += blob.size;
  copied_at_ = now;
  if (!copying_since_) copying_since_ = now;
}

void BlobMoves::failed(const MovingBlob& blob, const std::string& reason) {
  metrics_.blob_move_failures.Increment();
  log_.warn("blob_not_moved", {{"blob", blob.keys.key}, {"size", blob.size}, {"reason", reason}});
  const MutexLock lock(mutex_);
  ++so_far_.failures;
  so_far_.last_failure = reason;
}

// Integrity reads the file again, twice if needed, and marks it as damaged. A marked file is not listed here any more.
void BlobMoves::suspect(const MovingBlob& blob) {
  const auto upload = store_.find_upload(blob.workspace_id, blob.file_id);
  if (!upload || upload->keys() != blob.keys) return;
  failed(blob, "its content is not what was staged");
  integrity_.suspect(*upload);
}

void BlobMoves::count_places() {
  {
    const MutexLock lock(mutex_);
    const auto fresh = std::max<SteadyTime::duration>(kCountAtMostEvery, 20 * counting_takes_);
    if (counted_at_ && clock_.steady() - *counted_at_ < fresh) return;
  }
  const SteadyTime start = clock_.steady();
  auto counted = store_.count_blobs();
  const SteadyTime end = clock_.steady();
  const MutexLock lock(mutex_);
  counted_at_ = end;
  counting_takes_ = end - start;
  const auto& move = so_far_.move;
  const bool moving = move && move->phase != BlobPhase::finished;
  const PlaceFigures old = moving ? of_place(counted, move->from) : PlaceFigures();
  metrics_.blob_move_left.Set(static_cast<double>(left_in(old)));
  metrics_.blob_move_left_bytes.Set(static_cast<double>(old.bytes - old.damaged_bytes));
  so_far_.places = std::move(counted);
}

BlobMoveProgress BlobMoves::progress() {
  apply_stored_move();
  count_places();
  const MutexLock lock(mutex_);
  BlobMoveProgress progress = so_far_;
  if (!progress.move || progress.move->phase == BlobPhase::finished) {
    progress.copier = BlobMoveProgress::Copier::none;
    progress.held_up.clear();
    return progress;
  }
  const PlaceFigures& old = of_place(progress.places, progress.move->from);
  progress.left_files = left_in(old);
  progress.left_bytes = old.bytes - old.damaged_bytes;
  if (!copying_since_ || copied_at_ == *copying_since_) return progress;
  const double seconds = std::chrono::duration<double>(copied_at_ - *copying_since_).count();
  progress.bytes_per_second = static_cast<std::int64_t>(static_cast<double>(progress.copied_bytes) / seconds);
  if (*progress.bytes_per_second > 0) progress.seconds_left = progress.left_bytes / *progress.bytes_per_second;
  return progress;
}

}  // namespace restante::desk
