#include "desk/blob_checks/integrity.h"

#include <algorithm>
#include <limits>

#include "desk/blob_checks/blob_reading.h"

namespace restante::desk {
namespace {

constexpr std::size_t kPiece = 128 << 10;
constexpr std::size_t kMostSuspects = 1024;
// Agents decide how much is suspected. A tick reads so much of it, and at most one file more.
constexpr std::int64_t kSuspectBytes = 64 << 20;
constexpr int kPage = 16;
// Pause after a pass could not continue: long enough not to fill the log.
constexpr auto kRest = std::chrono::minutes(1);
// What a file costs in addition to its bytes: queries to the store. A million small files need a million of them.
constexpr std::int64_t kFileCost = 64 << 10;

}  // namespace

// A file that is being read.
struct Integrity::Reading {
  enum class CheckResult { unfinished, sound, changed, unreadable };
  CheckResult read_on(std::int64_t& allowance, const std::atomic<bool>& stopping, prometheus::Counter& bytes);
  // None if the file must be read again: the difference may be in the page cache's copy, which is dropped first.
  std::optional<CheckResult> conclude();

  Upload upload;
  std::shared_ptr<OpenBlob> blob;
  BlobReading reading{upload.size};
  bool second = false;
  std::string why{};     // why it cannot be read
  bool of_twin = false;  // the first copy is already known to be wrong
};

Integrity::Reading::CheckResult Integrity::Reading::read_on(std::int64_t& allowance, const std::atomic<bool>& stopping,
                                                            prometheus::Counter& bytes) {
  std::vector<char> piece(kPiece);
  while (allowance > 0 && !stopping) {
    const auto most = static_cast<std::size_t>(std::min<std::int64_t>(allowance, kPiece));
    std::string_view got;
    try {
      got = reading.next(*blob, std::span(piece).first(most));
    } catch (const Unavailable& e) {
      why = e.what();
      return CheckResult::unreadable;
    }
    bytes.Increment(static_cast<double>(got.size()));
    allowance -= std::ssize(got);
    if (!got.empty() && !reading.is_too_long()) continue;
    if (const auto result = conclude()) return *result;
  }
  return CheckResult::unfinished;
}

std::optional<Integrity::Reading::CheckResult> Integrity::Reading::conclude() {
  if (reading.matches(upload.sha256)) return CheckResult::sound;
  if (std::exchange(second, true)) return CheckResult::changed;
  blob->forget();
  reading = BlobReading(upload.size);
  return std::nullopt;
}

Integrity::Integrity(Store& store, Places& places, UploadEvents& events, const Clock& clock, Log& log, Metrics& metrics,
                     IntegrityRules rules)
    : store_(store), places_(places), events_(events), clock_(clock), log_(log), metrics_(metrics), rules_(rules) {}

Integrity::~Integrity() = default;

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
  walk();
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
  for (std::int64_t left = kSuspectBytes; left > 0 && !stopping_;) {
    const auto next = next_suspect();
    if (!next) return;
    left -= kFileCost;
    const auto file = begin(next->first, next->second);
    if (!file) continue;
    left -= file->upload.size;
    std::int64_t all = std::numeric_limits<std::int64_t>::max();
    while (!read_on(*file, all) && !stopping_) continue;
  }
}

void Integrity::walk() {
  if (rules_.every.count() == 0) return;
  if (!walking_) {
    const SteadyTime now = clock_.steady();
    if (began_ && now - *began_ < rules_.every) return;
    began_ = now;
    walking_ = true;
  }
  // Unused allowance is not saved: after a pause there is no burst.
  const auto grant = static_cast<std::int64_t>(rules_.rate) * rules_.tick.count() / 1000;
  allowance_ = std::min<std::int64_t>(allowance_, 0) + std::max<std::int64_t>(grant, 1);
  while (allowance_ > 0 && !stopping_) {
    if (!reading_ && !begin_next()) return end_walk();
    if (reading_ && read_on(*reading_, allowance_)) reading_.reset();
  }
}

bool Integrity::begin_next() {
  if (page_.empty()) {
    auto page = store_.walk_uploads(after_, kPage);
    if (page.empty()) return false;
    page_.assign(std::make_move_iterator(page.begin()), std::make_move_iterator(page.end()));
  }
  const Upload next = std::move(page_.front());
  page_.pop_front();
  // Before the file is read: a file that throws is skipped and does not end the pass.
  after_ = next.id;
  allowance_ -= kFileCost;
  ++checked_;
  if (!next.damage) reading_ = begin(next.workspace_id, next.id);
  return true;
}

void Integrity::end_walk() {
  if (checked_ > 0) log_.debug("uploads_checked", {{"files", checked_}});
  walking_ = false;
  after_.reset();
  checked_ = 0;
}

// Null if there is nothing to read: the file was deleted, is known to be damaged, or was decided at once.
std::unique_ptr<Integrity::Reading> Integrity::begin(WorkspaceId workspace, FileId id) {
  auto upload = store_.read_upload(workspace, id);
  if (!upload || upload->damage) return nullptr;
  if (upload->in_row()) {
    metrics_.uploads_checked_bytes.Increment(static_cast<double>(upload->content.size()));
    const auto damage = upload->content.empty() ? UploadDamage::missing : UploadDamage::changed;
    const bool sound = sha256(upload->content) == upload->sha256;
    record_result(*upload, sound ? std::nullopt : std::optional(damage));
    return nullptr;
  }
  auto blob = places_.open(upload->blob_key);
  if (blob) return std::make_unique<Reading>(Reading{std::move(*upload), std::move(blob)});
  return begin_twin(*upload, UploadDamage::missing);
}

// Null if there is no second copy, or it is missing, too: then the file is decided.
std::unique_ptr<Integrity::Reading> Integrity::begin_twin(const Upload& upload, UploadDamage damage) {
  auto blob = upload.twin_key.empty() ? nullptr : places_.open(upload.twin_key);
  if (blob) {
    auto reading = std::make_unique<Reading>(Reading{upload, std::move(blob)});
    reading->of_twin = true;
    return reading;
  }
  conclude(upload, damage);
  return nullptr;
}

// A row is deleted before its blob. So if the row still exists, the blob must exist, unless it was moved meanwhile.
void Integrity::conclude(const Upload& upload, UploadDamage damage) {
  const auto now = store_.find_upload(upload.workspace_id, upload.id);
  if (!now) return;
  if (now->keys() == upload.keys()) return record_result(upload, damage);
  suspect(*now);
}

// True when there is nothing more to read.
bool Integrity::read_on(Reading& file, std::int64_t& allowance) {
  switch (file.read_on(allowance, stopping_, metrics_.uploads_checked_bytes)) {
    case Reading::CheckResult::unfinished:
      return false;
    case Reading::CheckResult::sound:
      record_result(file.upload, std::nullopt);
      if (file.of_twin) keep_second_copy(file.upload);
      break;
    case Reading::CheckResult::changed: {
      if (file.of_twin) {
        conclude(file.upload, UploadDamage::changed);
        break;
      }
      const auto twin = begin_twin(file.upload, UploadDamage::changed);
      if (!twin) break;
      file = std::move(*twin);
      return false;
    }
    case Reading::CheckResult::unreadable:
      unreadable(file.upload, file.why);
      break;
  }
  return true;
}

bool Integrity::came_back(const Upload& upload) {
  if (upload.damage != UploadDamage::missing || upload.in_row()) return false;
  for (const std::string& key : {upload.blob_key, upload.twin_key}) {
    auto blob = key.empty() ? nullptr : places_.open(key);
    if (!blob) continue;
    Reading file{upload, std::move(blob)};
    std::int64_t all = std::numeric_limits<std::int64_t>::max();
    if (file.read_on(all, stopping_, metrics_.uploads_checked_bytes) == Reading::CheckResult::sound) return true;
  }
  return false;
}

// From now on the row names only the second copy. The sweep deletes the first one, and a blob move makes a new one.
void Integrity::keep_second_copy(const Upload& upload) {
  log_.error("blob_copy_damaged", {{"blob", upload.blob_key}, {"kept", upload.twin_key}});
  (void)store_.change_blob_keys({{upload.keys(), {upload.twin_key, {}}}}, clock_.now()).take();
}

void Integrity::record_result(const Upload& upload, std::optional<UploadDamage> damage) {
  metrics_.uploads_checked(damage ? "damaged" : "sound").Increment();
  if (damage) (void)report_damage(upload, *damage).take();
}

void Integrity::unreadable(const Upload& upload, const std::string& why) {
  metrics_.uploads_checked("unreadable").Increment();
  log_.error("upload_unreadable", {{"workspace_id", upload.workspace_id.text()},
                                   {"file_id", upload.id.text()},
                                   {"name", upload.name},
                                   {"size", upload.size},
                                   {"reason", why}});
}

}  // namespace restante::desk
