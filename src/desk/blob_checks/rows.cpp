#include <algorithm>
#include <utility>

#include "desk/blob_checks/blob_check.h"
#include "desk/blob_checks/blob_reading.h"
#include "desk/blob_moves/blob_copy.h"

namespace restante::desk {
namespace {

constexpr std::size_t kPiece = 256 << 10;
constexpr int kPage = 64;

}  // namespace

bool BlobCheck::check_next_row() {
  if (page_.empty()) {
    auto page = store_.walk_uploads(after_, kPage);
    if (page.empty()) return false;
    page_.assign(std::make_move_iterator(page.begin()), std::make_move_iterator(page.end()));
  }
  const Upload& next = page_.front();
  try {
    check_upload(next);
  } catch (const Unavailable& e) {
    if (++row_failures_ < rules_.row_attempts) throw;
    // A row that cannot be read does not stop the check.
    add_finding({BlobFault::unreadable, BlobRemedy::none, next.blob_key, next, e.what()});
  }
  row_failures_ = 0;
  after_ = next.id;
  page_.pop_front();
  const MutexLock lock(mutex_);
  ++report_.files;
  return true;
}

void BlobCheck::check_upload(const Upload& listed) {
  const auto upload = store_.read_upload(listed.workspace_id, listed.id);
  if (!upload) return;
  upload->in_row() ? check_content_in_row(*upload) : check_copies(*upload);
}

void BlobCheck::check_content_in_row(const Upload& upload) {
  count_bytes(upload.content.size());
  if (sha256(upload.content) == upload.sha256) return;
  const auto damage = upload.content.empty() ? UploadDamage::missing : UploadDamage::changed;
  const auto fault = upload.content.empty() ? BlobFault::missing : BlobFault::changed;
  add_finding({fault, report_damage(upload, damage), {}, upload});
}

void BlobCheck::check_copies(const Upload& upload) {
  std::vector<CheckedCopy> wrong;
  const std::string* right = nullptr;
  for (const std::string* key : {&upload.blob_key, &upload.twin_key}) {
    if (key->empty()) continue;
    CheckedCopy checked{*key, Copy::sound, {}};
    checked.copy = verify(*key, upload, checked.why);
    if (checked.copy == Copy::not_checked) return;
    if (checked.copy == Copy::sound) right = key;
    if (checked.copy != Copy::sound) wrong.push_back(std::move(checked));
  }
  // A row is deleted before its blob, and a blob move may have changed its keys meanwhile.
  if (wrong.empty() || !is_still(upload)) return;
  for (const CheckedCopy& one : wrong) {
    std::string why = one.why;
    const BlobRemedy remedy = mend(upload, one, wrong, right, why);
    add_finding({fault_of(one.copy), remedy, one.key, upload, std::move(why)});
  }
}

// If the repair fails, the fault remains a finding.
BlobRemedy BlobCheck::mend(const Upload& upload, const CheckedCopy& one, const std::vector<CheckedCopy>& wrong,
                           const std::string* right, std::string& why) {
  try {
    const bool restorable = right && one.copy != Copy::unreadable;
    return restorable ? restore(upload, one.key, *right, why) : mark_if_all_wrong(upload, wrong, right != nullptr);
  } catch (const Unavailable& e) {
    why = e.what();
    log_.warn("blob_not_mended", {{"blob", one.key}, {"file_id", upload.id.text()}, {"reason", why}});
    return BlobRemedy::none;
  }
}

// For files without a right copy. A copy that could not be read does not mark the file as damaged: the next read may
// succeed.
BlobRemedy BlobCheck::mark_if_all_wrong(const Upload& upload, const std::vector<CheckedCopy>& wrong, bool has_right) {
  const auto is = [](Copy copy) { return [copy](const CheckedCopy& one) { return one.copy == copy; }; };
  if (has_right || std::ranges::any_of(wrong, is(Copy::unreadable))) return BlobRemedy::none;
  const bool changed = std::ranges::any_of(wrong, is(Copy::changed));
  return report_damage(upload, changed ? UploadDamage::changed : UploadDamage::missing);
}

BlobFault BlobCheck::fault_of(Copy copy) {
  if (copy == Copy::missing) return BlobFault::missing;
  return copy == Copy::changed ? BlobFault::changed : BlobFault::unreadable;
}

BlobCheck::Copy BlobCheck::verify(const std::string& key, const Upload& upload, std::string& why) {
  try {
    const auto blob = places_.open(key);
    if (!blob) return Copy::missing;
    // The difference may be in a cached copy. forget() drops it before the second read.
    for (int look = 0; look < 2; ++look) {
      const bool sound = reads_as(*blob, upload);
      if (stopping_) return Copy::not_checked;
      if (sound) return Copy::sound;
      blob->forget();
    }
    return Copy::changed;
  } catch (const Unavailable& e) {
    if (stopping_) return Copy::not_checked;
    why = e.what();
    return Copy::unreadable;
  }
}

// False also when the check has to stop.
bool BlobCheck::reads_as(OpenBlob& blob, const Upload& upload) {
  std::vector<char> piece(kPiece);
  BlobReading reading(upload.size);
  while (!stopping_) {
    const std::string_view bytes = reading.next(blob, piece);
    count_bytes(bytes.size());
    if (bytes.empty()) break;
  }
  return !stopping_ && reading.matches(upload.sha256);
}

bool BlobCheck::is_still(const Upload& upload) {
  const auto now = store_.find_upload(upload.workspace_id, upload.id);
  return now && now->keys() == upload.keys();
}

void BlobCheck::count_bytes(std::size_t bytes) {
  const MutexLock lock(mutex_);
  report_.bytes += static_cast<std::int64_t>(bytes);
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

}  // namespace restante::desk
