#include <algorithm>
#include <utility>

#include "desk/blob_check.h"
#include "desk/blob_copy.h"
#include "desk/blob_reading.h"

namespace restante::desk {
namespace {

constexpr std::size_t kPiece = 256 << 10;
constexpr int kPage = 64;

}  // namespace

bool BlobCheck::look_at_next_row() {
  if (page_.empty()) {
    auto page = store_.walk_uploads(after_, kPage);
    if (page.empty()) return false;
    page_.assign(std::make_move_iterator(page.begin()), std::make_move_iterator(page.end()));
  }
  const Upload& next = page_.front();
  try {
    look_at(next);
  } catch (const Unavailable& e) {
    if (++row_failures_ < rules_.looks) throw;
    // One that cannot be read at all does not hold up the rest.
    found({BlobFault::unreadable, BlobRemedy::none, next.blob_key, next, e.what()});
  }
  row_failures_ = 0;
  after_ = next.id;
  page_.pop_front();
  const std::lock_guard lock(mutex_);
  ++report_.files;
  return true;
}

void BlobCheck::look_at(const Upload& listed) {
  const auto upload = store_.read_upload(listed.workspace_id, listed.id);
  if (!upload) return;
  upload->in_row() ? look_at_row(*upload) : look_at_copies(*upload);
}

void BlobCheck::look_at_row(const Upload& upload) {
  count_bytes(upload.content.size());
  if (sha256(upload.content) == upload.sha256) return;
  const auto damage = upload.content.empty() ? UploadDamage::missing : UploadDamage::changed;
  const auto fault = upload.content.empty() ? BlobFault::missing : BlobFault::changed;
  found({fault, report_damage(upload, damage), {}, upload});
}

void BlobCheck::look_at_copies(const Upload& upload) {
  std::vector<Looked> wrong;
  const std::string* right = nullptr;
  for (const std::string* key : {&upload.blob_key, &upload.twin_key}) {
    if (key->empty()) continue;
    Looked looked{*key, Copy::sound, {}};
    looked.copy = verify(*key, upload, looked.why);
    if (looked.copy == Copy::not_looked_at) return;
    if (looked.copy == Copy::sound) right = key;
    if (looked.copy != Copy::sound) wrong.push_back(std::move(looked));
  }
  // Rows leave before their bytes, and bytes may have moved meanwhile.
  if (wrong.empty() || !is_still(upload)) return;
  for (const Looked& one : wrong) {
    std::string why = one.why;
    const BlobRemedy remedy = mend(upload, one, wrong, right, why);
    found({fault_of(one.copy), remedy, one.key, upload, std::move(why)});
  }
}

// What was found stays found where it cannot be mended.
BlobRemedy BlobCheck::mend(const Upload& upload, const Looked& one, const std::vector<Looked>& wrong,
                           const std::string* right, std::string& why) {
  try {
    const bool restorable = right && one.copy != Copy::unreadable;
    return restorable ? restore(upload, one.key, *right, why) : judge(upload, wrong, right != nullptr);
  } catch (const Unavailable& e) {
    why = e.what();
    log_.warn("blob_not_mended", {{"blob", one.key}, {"file_id", upload.id.text()}, {"reason", why}});
    return BlobRemedy::none;
  }
}

// Where no copy is right. What could not be read is not condemned: the next look may succeed.
BlobRemedy BlobCheck::judge(const Upload& upload, const std::vector<Looked>& wrong, bool has_right) {
  const auto is = [](Copy copy) { return [copy](const Looked& one) { return one.copy == copy; }; };
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
    // What differs may be a memory's copy, which is given up for a second look.
    for (int look = 0; look < 2; ++look) {
      const bool sound = reads_as(*blob, upload);
      if (stopping_) return Copy::not_looked_at;
      if (sound) return Copy::sound;
      blob->forget();
    }
    return Copy::changed;
  } catch (const Unavailable& e) {
    if (stopping_) return Copy::not_looked_at;
    why = e.what();
    return Copy::unreadable;
  }
}

// False also when it has to end.
bool BlobCheck::reads_as(OpenBlob& blob, const Upload& upload) {
  std::vector<char> piece(kPiece);
  BlobReading reading(upload.size);
  while (!stopping_) {
    const std::string_view bytes = reading.next(blob, piece);
    count_bytes(bytes.size());
    if (bytes.empty()) break;
  }
  return !stopping_ && reading.was(upload.sha256);
}

bool BlobCheck::is_still(const Upload& upload) {
  const auto now = store_.find_upload(upload.workspace_id, upload.id);
  return now && now->keys() == upload.keys();
}

void BlobCheck::count_bytes(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  report_.bytes += static_cast<std::int64_t>(bytes);
}

BlobRemedy BlobCheck::report_damage(const Upload& upload, UploadDamage damage) {
  if (upload.damage) return BlobRemedy::marked;
  if (mend_ == Mend::no) return BlobRemedy::none;
  return integrity_.report_damage(upload, damage).take() ? BlobRemedy::marked : BlobRemedy::none;
}

// A new copy in the place of the wrong one, which leaves as any other does. Made from what was just found right, and
// compared while it is made.
BlobRemedy BlobCheck::restore(const Upload& upload, const std::string& wrong, const std::string& right,
                              std::string& why) {
  if (mend_ == Mend::no) return BlobRemedy::none;
  const auto placed = parse_key(wrong);
  if (!placed) return BlobRemedy::none;
  if (rules_.has_room && !rules_.has_room(placed->place, upload.size))
    throw StorageFull("the disk is down to its reserve (storage.reserve)");
  why = "the right copy left or moved before it was copied";
  const MovingBlob source{{right, {}}, upload.size, upload.sha256, upload.workspace_id, upload.id};
  const auto made = write_copy(places_, source, placed->place, stopping_, [](std::size_t) {});
  if (!made) return BlobRemedy::none;
  const bool first = wrong == upload.blob_key;
  const BlobKeys is{first ? *made : upload.blob_key, first ? upload.twin_key : *made};
  const auto rows = store_.place_blobs({{upload.keys(), is}}, clock_.now()).take();
  if (rows && *rows > 0) {
    why.clear();
    return BlobRemedy::restored;
  }
  places_.drop_unreferenced(*made);  // the rows have left or moved meanwhile
  return BlobRemedy::none;
}

}  // namespace restante::desk
