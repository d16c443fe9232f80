#include <fmt/format.h>

#include <utility>

#include "desk/blob_moves/blob_copy.h"
#include "desk/blob_moves/blob_moves.h"

namespace restante::desk {

// Works on one page of them. After the last page it returns whether there were any, and whether all could be decided.
BlobMoves::Twins BlobMoves::give_up_twins(const BlobMove& move) {
  const auto page = store_.list_blobs(KeyRole::twin, move.from, twins_.after, rules_.step);
  if (page.empty()) {
    const TwinPass ended = std::exchange(twins_, {});
    if (ended.undecided) return Twins::wait;
    return ended.met ? Twins::more : Twins::none;
  }
  std::vector<BlobChange> changes;
  Twins next = Twins::more;
  for (const MovingBlob& blob : page) {
    if (!may_read(move)) {
      next = Twins::slower;
      break;
    }
    const auto keys = without_twin(move, blob);
    if (stopping_) break;
    twins_.after = blob.keys.twin;
    twins_.met = true;
    if (keys) {
      succeeded();
      changes.push_back({blob.keys, *keys});
    } else {
      twins_.undecided = true;
      count_failure();
      if (failed_in_a_row_ >= kFailuresInARow) next = Twins::wait;
    }
    if (next != Twins::more || std::chrono::steady_clock::now() >= slice_ends_) break;
  }
  if (!changes.empty()) (void)store_.change_blob_keys(std::move(changes), clock_.now()).take();
  return stopping_ ? Twins::wait : next;
}

// The copy was read back once, but perhaps long ago, and disks lose data. If the copy is missing or changed, the row
// keeps only the old blob, and that is copied again. None if this cannot be decided yet.
std::optional<BlobKeys> BlobMoves::without_twin(const BlobMove& move, const MovingBlob& blob) {
  try {
    if (verify(blob, blob.keys.key)) return BlobKeys{blob.keys.key, {}};
    if (stopping_) return std::nullopt;
    if (!verify(blob, blob.keys.twin)) return without_right_copy(blob);
    const bool there = places_.open(blob.keys.key) != nullptr;
    failed(blob, fmt::format("its copy in \"{}\" is {}; it is copied again", name_of(move.to),
                             there ? "damaged" : "missing"));
    return BlobKeys{blob.keys.twin, {}};
  } catch (const Unavailable& e) {
    failed(blob, e.what());
    return std::nullopt;
  }
}

// No copy is right. Both are kept until Integrity has read the file, too, and has marked it as damaged. After that the
// copy in the new place is as good as the old one.
std::optional<BlobKeys> BlobMoves::without_right_copy(const MovingBlob& blob) {
  if (stopping_) return std::nullopt;
  const auto upload = store_.find_upload(blob.workspace_id, blob.file_id);
  if (upload && upload->keys() == blob.keys && upload->damage) {
    return places_.open(blob.keys.key) ? BlobKeys{blob.keys.key, {}} : BlobKeys{blob.keys.twin, {}};
  }
  suspect(blob);
  return std::nullopt;
}

// Reading counts like copying: it uses disk and network that other work needs.
bool BlobMoves::verify(const MovingBlob& blob, const std::string& key) {
  return reads_back(places_, blob, key, stopping_,
                    [this](std::size_t read) { allowance_ -= static_cast<double>(read); });
}

}  // namespace restante::desk
