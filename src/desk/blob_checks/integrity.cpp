#include "desk/blob_checks/integrity.h"

#include <algorithm>

namespace restante::desk {
namespace {

constexpr std::size_t kMostSuspects = 1024;
// Agents decide how much is suspected. A tick reads so much of it, and at most one file more.
constexpr std::int64_t kSuspectBytes = 64 << 20;
constexpr int kPage = 16;
// Pause after a pass could not continue: long enough not to fill the log.
constexpr auto kRest = std::chrono::minutes(1);
// What a file costs in addition to its bytes: queries to the store. A million small files need a million of them.
constexpr std::int64_t kFileCost = 64 << 10;

}  // namespace

Integrity::Integrity(Store& store, Places& places, UploadEvents& events, const Clock& clock, Log& log, Metrics& metrics,
                     IntegrityRules rules)
    : BlobJob(store, places, clock, log, metrics),
      events_(events),
      rules_(rules),
      count_bytes_(
          [&bytes = metrics.uploads_checked_bytes](std::size_t read) { bytes.Increment(static_cast<double>(read)); }),
      walk_(store, places, kPage) {}

void Integrity::suspect(const Upload& upload) {
  if (upload.damage) return;
  const Suspect suspect{upload.workspace_id, upload.id};
  const MutexLock lock(mutex_);
  const bool known = std::ranges::find(suspects_, suspect) != suspects_.end();
  if (!known && suspects_.size() < kMostSuspects) suspects_.push_back(suspect);
}

Commit<Result<std::vector<UploadChange>>> Integrity::report_damage(const Upload& upload, UploadDamage damage) {
  auto commit = store_.mark_damaged(upload.workspace_id, upload.id, damage, clock_.now());
  commit.then([&events = events_](const Result<std::vector<UploadChange>>& marked) {
    if (!marked) return;
    for (const UploadChange& change : *marked) events.damaged(change);
  });
  return commit;
}

void Integrity::tick() {
  check_suspects();
  const SteadyTime now = clock_.steady();
  if (now < paused_until_) return;
  paused_until_ = now + kRest;  // in case it throws
  continue_pass();
  paused_until_ = now;
}

std::optional<Integrity::Suspect> Integrity::next_suspect() {
  const MutexLock lock(mutex_);
  if (suspects_.empty()) return std::nullopt;
  const Suspect next = suspects_.front();
  suspects_.pop_front();
  return next;
}

void Integrity::check_suspects() {
  const SteadyTime now = clock_.steady();
  if (now < suspects_paused_until_) return;
  for (std::int64_t left = kSuspectBytes; left > 0 && !stopping_;) {
    const auto next = next_suspect();
    if (!next) return;
    try {
      left -= kFileCost + check(*next);
    } catch (...) {
      // It is checked again, after the others.
      suspects_paused_until_ = now + kRest;
      const MutexLock lock(mutex_);
      suspects_.push_back(*next);
      throw;
    }
  }
}

std::int64_t Integrity::check(const Suspect& suspect) {
  const auto file = begin(suspect.first, suspect.second);
  if (!file) return 0;
  if (file->read_all(stopping_, count_bytes_)) conclude(*file);
  return file->upload().size;
}

void Integrity::continue_pass() {
  if (rules_.every.count() == 0) return;
  if (!passing_) {
    const SteadyTime now = clock_.steady();
    if (began_ && now - *began_ < rules_.every) return;
    began_ = now;
    passing_ = true;
  }
  // Unused allowance is not saved: after a pause there is no burst.
  const auto grant = static_cast<std::int64_t>(rules_.rate) * rules_.tick.count() / 1000;
  allowance_ = std::min<std::int64_t>(allowance_, 0) + std::max<std::int64_t>(grant, 1);
  while (allowance_ > 0 && !stopping_) {
    if (!reading_ && !begin_next()) return end_pass();
    if (!reading_ || !reading_->read_on(allowance_, stopping_, count_bytes_)) continue;
    conclude(*reading_);
    reading_.reset();
  }
}

bool Integrity::begin_next() {
  const Upload* row = walk_.next_row();
  if (!row) return false;
  const Upload next = *row;
  // Before the file is opened: a file that throws is skipped and does not end the pass.
  walk_.pass_row();
  allowance_ -= kFileCost;
  ++checked_;
  if (!next.damage) reading_ = begin(next.workspace_id, next.id);
  return true;
}

void Integrity::end_pass() {
  if (checked_ > 0) log_.debug("uploads_checked", {{"files", checked_}});
  passing_ = false;
  walk_.restart();
  checked_ = 0;
}

// Null if the file was deleted or is known to be damaged.
std::unique_ptr<FileReading> Integrity::begin(WorkspaceId workspace, FileId id) {
  auto upload = store_.read_upload(workspace, id);
  if (!upload || upload->damage) return nullptr;
  return std::make_unique<FileReading>(places_, std::move(*upload), FileReading::Copies::until_sound);
}

void Integrity::conclude(const FileReading& file) {
  const Upload& upload = file.upload();
  if (const auto* copy = file.find(CheckedCopy::State::unreadable)) return events_.unreadable(upload, copy->why);
  const auto damage = file.damage();
  if (damage && !is_still(upload)) return suspect(upload);  // it was moved, or deleted
  metrics_.uploads_checked(damage ? "damaged" : "sound").Increment();
  if (damage) (void)report_damage(upload, *damage).take();
  if (!damage && file.copies().size() > 1) keep_second_copy(upload);
}

bool Integrity::came_back(const Upload& upload) {
  if (upload.damage != UploadDamage::missing || upload.in_row()) return false;
  FileReading file(places_, upload, FileReading::Copies::until_sound);
  return file.read_all(stopping_, count_bytes_) && file.find(CheckedCopy::State::sound);
}

// From now on the row names only the second copy. The sweep deletes the first one, and a blob move makes a new one.
void Integrity::keep_second_copy(const Upload& upload) {
  log_.error("blob_copy_damaged", {{"blob", upload.blob_key}, {"kept", upload.twin_key}});
  (void)store_.change_blob_keys({{upload.keys(), {upload.twin_key, {}}}}, clock_.now()).take();
}

}  // namespace restante::desk
