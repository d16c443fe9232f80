#include "desk/blob_checks/blob_check.h"

#include <algorithm>
#include <utility>

#include "desk/blob_moves/blob_copy.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

constexpr int kPage = 64;
constexpr auto kSaveEvery = std::chrono::seconds(1);

using State = BlobCheckReport::State;

BlobFault fault_of(CheckedCopy::State state) {
  if (state == CheckedCopy::State::missing) return BlobFault::missing;
  return state == CheckedCopy::State::changed ? BlobFault::changed : BlobFault::unreadable;
}

std::int64_t all_of(const UploadStats& stats) {
  return stats.never_fetched.files + stats.fetched.files + stats.failed.files + stats.acked.files +
         stats.expired.files + stats.outgoing.files;
}

}  // namespace

BlobCheck::BlobCheck(Store& store, Places& places, Integrity& integrity, const Clock& clock, Log& log, Metrics& metrics,
                     BlobCheckRules rules)
    : BlobJob(store, places, clock, log, metrics),
      integrity_(integrity),
      rules_(std::move(rules)),
      self_(WorkerId::make(clock.now())),
      guard_(clock, rules_.grace),
      walk_(store, places, kPage) {}

Result<BlobCheckReport> BlobCheck::start(Mend mend) {
  {
    // A client that has read that the last check is done must not get blob_check_running.
    const MutexLock saving_lock(saving_);
    const MutexLock lock(mutex_);
    if (report_.state != State::none) return errors::blob_check_running;
  }
  BlobCheckReport fresh;
  fresh.state = State::running;
  fresh.mend = mend == Mend::yes;
  fresh.all_files = all_of(store_.upload_stats(clock_.now(), {.limit = 0}).total);
  const Time now = clock_.now();
  NewBlobCheck wanted{fresh.mend, self_, now + rules_.lease, write_progress(fresh), write_findings(fresh), {}};
  if (const auto was = store_.find_blob_check(); rules_.alone && was && was->worker != self_) wanted.gone = was->worker;
  const auto begun = store_.begin_blob_check(wanted, now).take();
  if (!begun) return begun.error();
  fresh.started_at = begun->begun_at;
  const MutexLock lock(mutex_);
  report_ = fresh;
  named_ = 0;
  saved_at_ = clock_.steady();
  return fresh;
}

BlobCheckReport BlobCheck::report() {
  const auto row = store_.find_blob_check();
  if (!row) return {};
  BlobCheckReport report = read_report(*row);
  if (report.state == State::running && !is_alive(*row)) {
    report.state = State::interrupted;
    report.reason = "the server that ran the check has stopped";
  }
  return report;
}

// If no other server uses the store, another worker's check was run by the process before this one.
bool BlobCheck::is_alive(const BlobCheckRow& row) const {
  if (rules_.alone && row.worker != self_) return false;
  const MutexLock lock(mutex_);
  const bool here = report_.state != State::none && row.worker == self_ && row.begun_at == report_.started_at;
  return here || row.worker_until > clock_.now();
}

void BlobCheck::tick() {
  (void)guard_.believable();  // the guard compares with its last call, so call it often
  bool mend = false;
  {
    const MutexLock lock(mutex_);
    if (report_.state != State::running) return;
    mend = report_.mend;
  }
  if (!std::exchange(begun_, true)) begin(mend ? Mend::yes : Mend::no);
  if (lost_) return give_up();
  State now = State::running;
  try {
    now = work();
    failures_ = 0;
    const MutexLock lock(mutex_);
    report_.reason.clear();
  } catch (const Unavailable& e) {
    if (++failures_ >= rules_.attempts) return end(State::failed, e.what());
    {
      const MutexLock lock(mutex_);
      report_.reason = e.what();
    }
    save_progress();
    throw;
  }
  if (lost_) return give_up();
  // Outside of the try block: if the end cannot be saved, that is not a failure of the check, and the end stays as it
  // is.
  now == State::running ? save_progress() : end(now);
}

// Works for one slice. Returns the state after it.
State BlobCheck::work() {
  const SteadyTime start = std::chrono::steady_clock::now();
  while (!lost_ && std::chrono::steady_clock::now() - start < rules_.slice) {
    const SteadyTime at = std::chrono::steady_clock::now();
    if (stopping_) return State::stopped;
    if (!step()) return State::done;
    pause_for_writers(at, 1);
  }
  return State::running;
}

void BlobCheck::begin(Mend mend) {
  phase_ = Phase::rows;
  mend_ = mend;
  lost_ = false;
  walk_.restart();
  failures_ = 0;
  row_failures_ = 0;
  unreachable_places_.clear();
  log_.info("blob_check_began", {{"mend", mend == Mend::yes ? "yes" : "no"}});
}

void BlobCheck::end(State state, std::string reason) {
  begun_ = false;
  {
    const MutexLock lock(mutex_);
    report_.state = state;
    report_.ended_at = clock_.now();
    report_.reason = std::move(reason);
  }
  save_progress();
}

// Another check was begun, because this server did not renew its lease in time.
void BlobCheck::give_up() {
  begun_ = false;
  const MutexLock saving_lock(saving_);
  const MutexLock lock(mutex_);
  report_ = BlobCheckReport();
  log_.warn("blob_check_lost", {{"reason", "another one was begun meanwhile"}});
}

void BlobCheck::beat() {
  {
    const MutexLock lock(mutex_);
    if (report_.state == State::none || clock_.steady() - saved_at_ < kSaveEvery) return;
  }
  save_progress();
}

void BlobCheck::release() {
  bool running = false;
  {
    const MutexLock lock(mutex_);
    running = report_.state == State::running;
  }
  running ? end(State::stopped) : save_progress();
}

void BlobCheck::save_progress() {
  const MutexLock saving_lock(saving_);
  BlobCheckReport now;
  BlobCheckUpdate update;
  {
    const MutexLock lock(mutex_);
    if (report_.state == State::none) return;
    now = report_;
    if (now.findings.size() != named_) update.findings = write_findings(now);
  }
  update.worker = self_;
  update.begun_at = *now.started_at;
  update.worker_until = clock_.now() + rules_.lease;
  update.progress = write_progress(now);
  update.state = kept_state(now.state);
  update.ended_at = now.ended_at;
  progress_saved(now, store_.update_blob_check(std::move(update)).take().value());
}

void BlobCheck::progress_saved(const BlobCheckReport& report, bool kept) {
  {
    const MutexLock lock(mutex_);
    saved_at_ = clock_.steady();
    named_ = report.findings.size();
    if (report.state != State::running) report_ = BlobCheckReport();
  }
  if (report.state == State::running) {
    if (!kept) lost_ = true;
    return;
  }
  log_.info("blob_check_ended", {{"state", name_of(report.state)},
                                 {"files", report.files},
                                 {"blobs", report.blobs},
                                 {"bytes", report.bytes},
                                 {"wrong", report.wrong()},
                                 {"mended", report.mended},
                                 {"reason", report.reason}});
}

// False when there is nothing left to do.
bool BlobCheck::step() {
  switch (phase_) {
    case Phase::rows:
      if (!check_next_row()) phase_ = Phase::places;
      return true;
    case Phase::places:
      if (!find_orphans()) phase_ = Phase::unfinished;
      return true;
    case Phase::unfinished:
      find_unfinished();
      break;
  }
  return false;
}

void BlobCheck::add_finding(BlobFinding finding) {
  const MutexLock lock(mutex_);
  ++report_.found.at(static_cast<std::size_t>(finding.fault));
  if (finding.remedy != BlobRemedy::none) ++report_.mended;
  if (report_.findings.size() >= rules_.findings) return;
  report_.findings.push_back(std::move(finding));
}

bool BlobCheck::check_next_row() {
  const Upload* next = walk_.next_row();
  if (!next) return false;
  try {
    check_upload(*next);
  } catch (const Unavailable& e) {
    if (++row_failures_ < rules_.row_attempts) throw;
    // A row that cannot be read does not stop the check.
    add_finding({BlobFault::unreadable, BlobRemedy::none, next->blob_key, *next, e.what()});
  }
  row_failures_ = 0;
  walk_.pass_row();
  const MutexLock lock(mutex_);
  ++report_.files;
  return true;
}

void BlobCheck::check_upload(const Upload& listed) {
  auto upload = store_.read_upload(listed.workspace_id, listed.id);
  if (!upload) return;
  FileReading file(places_, std::move(*upload), FileReading::Copies::every);
  const bool read = file.read_all(stopping_, [this](std::size_t bytes) {
    const MutexLock lock(mutex_);
    report_.bytes += static_cast<std::int64_t>(bytes);
  });
  const auto is_sound = [](const CheckedCopy& copy) { return copy.state == CheckedCopy::State::sound; };
  if (!read || std::ranges::all_of(file.copies(), is_sound) || !is_still(file.upload())) return;
  for (const CheckedCopy& copy : file.copies()) {
    if (is_sound(copy)) continue;
    std::string why = copy.why;
    const BlobRemedy remedy = mend(file, copy, why);
    add_finding({fault_of(copy.state), remedy, copy.key, file.upload(), std::move(why)});
  }
}

// If the repair fails, the fault remains a finding.
BlobRemedy BlobCheck::mend(const FileReading& file, const CheckedCopy& wrong, std::string& why) {
  const CheckedCopy* right = file.find(CheckedCopy::State::sound);
  const auto damage = file.damage();
  try {
    if (right && wrong.state != CheckedCopy::State::unreadable) {
      return restore(file.upload(), wrong.key, right->key, why);
    }
    return damage ? report_damage(file.upload(), *damage) : BlobRemedy::none;
  } catch (const Unavailable& e) {
    why = e.what();
    log_.warn("blob_not_mended", {{"blob", wrong.key}, {"file_id", file.upload().id.text()}, {"reason", why}});
    return BlobRemedy::none;
  }
}

BlobRemedy BlobCheck::report_damage(const Upload& upload, UploadDamage damage) {
  if (upload.damage) return BlobRemedy::marked;
  if (mend_ == Mend::no) return BlobRemedy::none;
  return integrity_.report_damage(upload, damage).take() ? BlobRemedy::marked : BlobRemedy::none;
}

// Writes a new copy into the place of the wrong one. The sweep deletes the wrong one as a dropped blob. The source is
// the copy that was just found right; it is verified again while it is copied.
BlobRemedy BlobCheck::restore(const Upload& upload, const std::string& wrong, const std::string& right,
                              std::string& why) {
  if (mend_ == Mend::no) return BlobRemedy::none;
  const auto placed = parse_key(wrong);
  if (!placed) return BlobRemedy::none;
  if (rules_.has_room && !rules_.has_room(placed->place, upload.size))
    throw StorageFull("the disk is down to its reserve (storage.reserve)");
  why = "the right copy was deleted or moved before it was copied";
  const MovingBlob source{{right, {}}, upload.size, upload.sha256, upload.workspace_id, upload.id};
  const auto made = write_copy(places_, source, placed->place, stopping_, [](std::size_t) {});
  if (!made) return BlobRemedy::none;
  const bool first = wrong == upload.blob_key;
  const BlobKeys is{first ? *made : upload.blob_key, first ? upload.twin_key : *made};
  const auto rows = store_.change_blob_keys({{upload.keys(), is}}, clock_.now()).take();
  if (rows && *rows > 0) {
    why.clear();
    return BlobRemedy::restored;
  }
  places_.drop_unreferenced(*made);  // the rows were deleted or moved meanwhile
  return BlobRemedy::none;
}

// False after the last page.
bool BlobCheck::find_orphans() {
  const auto blobs = walk_.next_blobs(orphan_cutoff(), unreachable_places_);
  places_.require_written_places(unreachable_places_);
  const bool mend = mend_ == Mend::yes && guard_.believable();
  for (const BlobWalk::Blob& blob : blobs) {
    if (blob.named) continue;
    if (mend) {
      places_.drop(blob.key);
      count_orphan(blob.key);
    }
    add_finding({BlobFault::orphan, mend ? BlobRemedy::dropped : BlobRemedy::none, blob.key, {}});
  }
  const MutexLock lock(mutex_);
  report_.blobs += std::ssize(blobs);
  return walk_.pass_blobs();
}

void BlobCheck::find_unfinished() {
  const bool mend = mend_ == Mend::yes && guard_.believable();
  const std::size_t count = mend ? places_.drop_unfinished(orphan_cutoff(), &unreachable_places_)
                                 : places_.count_unfinished(orphan_cutoff(), &unreachable_places_);
  places_.require_written_places(unreachable_places_);
  report_unreachable_places();
  const MutexLock lock(mutex_);
  report_.found.at(static_cast<std::size_t>(BlobFault::unfinished)) += static_cast<std::int64_t>(count);
  if (mend) report_.mended += static_cast<std::int64_t>(count);
}

void BlobCheck::report_unreachable_places() {
  for (const auto& [place, reason] : unreachable_places_) {
    add_finding({BlobFault::out_of_reach, BlobRemedy::none, {}, {}, reason, place});
  }
}

}  // namespace restante::desk
