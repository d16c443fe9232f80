#include "lockstep.h"

#include "base/text.h"

namespace restante::testing {

NewUpload LockstepProgram::some_blob() {
  auto item = file(word() + ".txt", 1 + pick(1000));
  item.blob_key = key_in(kPlaces[static_cast<std::size_t>(pick(3))], item.blob_key);
  if (one_in(3)) item.twin_key = key_in(kPlaces[static_cast<std::size_t>(pick(3))], Uuid::make(now_).hex());
  return item;
}

void LockstepProgram::move_blobs() {
  for (const Place place : kPlaces) {
    for (const KeyRole role : {KeyRole::first, KeyRole::twin}) {
      EXPECT_EQ(listed(store_->list_blobs(role, place, "", 1'000'000)), model_.list_blobs(role, place));
    }
  }
  EXPECT_EQ(store_->count_blobs(), model_.count_blobs());
  const auto page = store_->list_blobs(KeyRole::first, kPlaces[static_cast<std::size_t>(pick(3))], "", 1 + pick(4));
  std::vector<BlobChange> changes;
  for (const auto& blob : page) {
    const std::string fresh = key_in(kPlaces[static_cast<std::size_t>(pick(3))], Uuid::make(now_).hex());
    const BlobKeys& was = blob.keys;
    if (was.twin.empty() || one_in(4)) {
      changes.push_back({was, {fresh, one_in(2) ? was.key : std::string()}});
    } else {
      changes.push_back({was, one_in(2) ? BlobKeys{was.twin, was.key} : BlobKeys{one_in(2) ? was.key : was.twin, {}}});
    }
    if (one_in(8)) changes.back().was.twin = "s3:" + Uuid::make(now_).hex();  // keys that the row no longer has
  }
  std::int64_t rows = 0;
  for (const auto& change : changes) rows += model_.place(change, now_);
  EXPECT_EQ(store_->change_blob_keys(changes, now_).take().value(), rows);
}

std::set<std::string> LockstepProgram::listed(const std::vector<MovingBlob>& blobs) {
  std::set<std::string> all;
  for (const auto& blob : blobs) {
    all.insert(blob.keys.key + " " + blob.keys.twin + " " + std::to_string(blob.size) + to_hex(blob.sha256));
  }
  return all;
}

}  // namespace restante::testing
