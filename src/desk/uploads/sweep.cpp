#include "desk/uploads/sweep.h"

#include <algorithm>

#include "model/errors.h"
#include "store/blob_key.h"

namespace restante::desk {
namespace {

constexpr auto kMeasureEvery = std::chrono::seconds(15);
// So many times as long as a step, so that other writes can run between two steps.
constexpr int kPause = 2;

std::chrono::milliseconds since(SteadyTime start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
}

}  // namespace

Sweep::Sweep(Store& store, Places& places, UploadEvents& events, const Clock& clock, Log& log, Metrics& metrics,
             SweepRules rules)
    : BlobJob(store, places, clock, log, metrics),
      events_(events),
      rules_(rules),
      guard_(clock, rules.every),
      walk_(store, places) {}

void Sweep::tick() {
  bool due = false;
  {
    if (!running_.try_lock()) return;
    const TimedMutexLock lock(running_);
    const SteadyTime now = clock_.steady();
    due = !swept_at_ || now - *swept_at_ >= rules_.every;
    if (!due && (!measured_at_ || now - *measured_at_ >= kMeasureEvery)) {
      measure();
      if (walking_ && clock_.trusted()) go_on_collecting();
    }
  }
  if (due) (void)run_once();
}

Result<SweepReport> Sweep::run_once() {
  if (!running_.try_lock_for(rules_.patience)) return errors::sweep_running;
  const TimedMutexLock lock(running_);
  const SteadyTime start = std::chrono::steady_clock::now();
  swept_at_ = clock_.steady();
  SweepReport report;
  if (!store_.uploads_ready()) return report;  // nothing was ever staged, and which places are ours is not known
  unreachable_places_.clear();
  walking_ = false;
  try {
    report.clock_jumped = !guard_.believable();
    if (report.clock_jumped)
      log_.warn("sweep_waits", {{"reason", "the clock was changed: nothing is deleted by age in this sweep"}});
    if (!report.clock_jumped) sweep_rows(report);
    drop_blobs(report);
    if (!report.clock_jumped) collect_orphans(report);
    report.took = since(start);
    log_report(report);
    log_unreachable_places();
    measure();
    places_.require_written_places(unreachable_places_);
  } catch (...) {
    metrics_.swept("error").Increment();
    last_run_.ended(clock_.now(), false);
    throw;
  }
  last_run_.ended(clock_.now(), true);
  metrics_.sweep_duration.Observe(std::chrono::duration<double>(report.took).count());
  return report;
}

void Sweep::log_report(const SweepReport& report) const {
  if (report.acked + report.expired + report.blobs + report.orphans == 0) return;
  log_.info("swept", {{"acked", report.acked},
                      {"expired", report.expired},
                      {"blobs", report.blobs},
                      {"orphans", report.orphans},
                      {"duration_ms", static_cast<std::int64_t>(report.took.count())}});
}

void Sweep::sweep_rows(SweepReport& report) {
  for (bool more = true; more && !stopping_;) {
    const SteadyTime start = std::chrono::steady_clock::now();
    const SweptUploads swept = store_.sweep_uploads(rules_.ack_retention, rules_.step, clock_.now()).take().value();
    report.acked += swept.acked;
    report.expired += std::ssize(swept.expired);
    metrics_.swept("acked").Increment(static_cast<double>(swept.acked));
    metrics_.swept("expired").Increment(static_cast<double>(swept.expired.size()));
    for (const UploadChange& change : swept.expired) events_.expired(change);
    more = swept.more;
    if (more) pause_for_writers(start, kPause);
  }
}

// Blobs first, then the list of them. After a crash in between a blob is deleted again, which does no harm.
void Sweep::drop_blobs(SweepReport& report) {
  const Time unread = clock_.expiry_time() - rules_.longest_request;
  for (std::string after; !stopping_;) {
    const SteadyTime start = std::chrono::steady_clock::now();
    const auto keys = store_.list_dropped_blobs(rules_.step, unread, after);
    if (keys.empty()) return;
    auto dropped = places_.drop_all(keys, &unreachable_places_);
    report.blobs += std::ssize(dropped);
    if (!dropped.empty()) (void)store_.forget_dropped_blobs(std::move(dropped)).take();
    if (std::ssize(keys) < rules_.step) return;
    after = keys.back();
    pause_for_writers(start, kPause);
  }
}

void Sweep::collect_orphans(SweepReport& report) {
  load_orphan_candidates();
  const Time before = clock_.now() - rules_.orphan_grace;
  report.orphans += static_cast<std::int64_t>(places_.drop_unfinished(before, &unreachable_places_));
  walking_ = true;
  for (std::size_t listed = 0; listed < rules_.look_at && !stopping_;) {
    const SteadyTime start = std::chrono::steady_clock::now();
    const auto blobs = walk_.next_blobs(before, unreachable_places_);
    listed += blobs.size();
    collect(blobs, report);
    const bool more = walk_.pass_blobs();
    if (!blobs.empty()) pause_for_writers(start, kPause);
    if (more) continue;
    std::vector<std::string> gone;
    for (const auto& [key, candidate] : orphan_candidates_) {
      if (candidate.walk == walk_number_ || unreachable_places_.contains(parse_key(key)->place)) continue;
      gone.push_back(key);
    }
    for (const std::string& key : gone) orphan_candidates_.erase(key);
    ++walk_number_;
    walking_ = false;
    record({}, std::move(gone));
    return;
  }
}

void Sweep::go_on_collecting() {
  SweepReport report;
  collect_orphans(report);
  log_report(report);
}

// Counted from when an earlier server found them: else a server that restarts often would never delete an orphan. Only
// called while the clock can be trusted.
void Sweep::load_orphan_candidates() {
  if (loaded_) return;
  const SteadyTime now = clock_.steady();
  const Time wall = clock_.now();
  for (const auto& [key, since] : store_.list_orphan_candidates()) {
    if (!parse_key(key)) continue;
    const auto age = std::max(wall - since, Time::duration::zero());
    orphan_candidates_.try_emplace(key, Candidate{now - age, walk_number_});
  }
  loaded_ = true;
}

void Sweep::record(std::vector<OrphanCandidate> found, std::vector<std::string> gone) {
  const auto take = [this](auto& from) {
    const auto most = std::min(std::ssize(from), static_cast<std::ptrdiff_t>(std::max(rules_.step, 1)));
    std::remove_reference_t<decltype(from)> taken(std::make_move_iterator(from.end() - most),
                                                  std::make_move_iterator(from.end()));
    from.erase(from.end() - most, from.end());
    return taken;
  };
  while (!found.empty() || !gone.empty()) {
    const SteadyTime start = std::chrono::steady_clock::now();
    (void)store_.change_orphan_candidates(take(found), take(gone)).take();
    if (!found.empty() || !gone.empty()) pause_for_writers(start, kPause);
  }
}

// A file's time is from the wall clock, which may have been set since. So a blob must also have been a candidate for as
// long by the steady clock.
void Sweep::collect(const std::vector<BlobWalk::Blob>& blobs, SweepReport& report) {
  const SteadyTime now = clock_.steady();
  std::vector<OrphanCandidate> found;
  std::vector<std::string> gone;
  for (const auto& [key, named] : blobs) {
    if (stopping_) break;
    if (named) {
      if (orphan_candidates_.erase(key) > 0) gone.push_back(key);
      continue;
    }
    const auto [candidate, is_new] = orphan_candidates_.try_emplace(key, Candidate{now, walk_number_});
    if (is_new) found.push_back({key, clock_.now()});
    candidate->second.walk = walk_number_;
    if (now - candidate->second.since < rules_.orphan_grace) continue;
    if (places_.drop_all({&key, 1}, &unreachable_places_).empty()) continue;
    orphan_candidates_.erase(candidate);
    gone.push_back(key);
    ++report.orphans;
    count_orphan(key);
  }
  record(std::move(found), std::move(gone));
}

// Logs a place once until it answers again, not in every sweep.
void Sweep::log_unreachable_places() {
  for (const auto& [place, reason] : unreachable_places_) {
    if (logged_places_.insert(place).second)
      log_.warn("place_not_swept", {{"place", name_of(place)}, {"reason", reason}});
  }
  std::erase_if(logged_places_,
                [this](Place place) RESTANTE_REQUIRES(running_) { return !unreachable_places_.contains(place); });
}

void Sweep::measure() {
  measured_at_ = clock_.steady();
  const UploadStats total = store_.upload_stats(clock_.expiry_time(), {.limit = 0}).total;
  const UploadTally waiting{total.never_fetched.files + total.fetched.files + total.failed.files,
                            total.never_fetched.bytes + total.fetched.bytes + total.failed.bytes};
  metrics_.pending_uploads.Set(static_cast<double>(waiting.files));
  metrics_.pending_uploads_bytes.Set(static_cast<double>(waiting.bytes));
  metrics_.damaged_uploads.Set(static_cast<double>(total.damaged.files));
  const auto age = total.oldest ? clock_.now() - *total.oldest : std::chrono::microseconds(0);
  metrics_.pending_uploads_oldest_age.Set(std::max(0.0, std::chrono::duration<double>(age).count()));
}

}  // namespace restante::desk
