#include <fmt/format.h>

#include <utility>

#include "desk/blob_moves.h"

namespace restante::desk {

// Some of them; at the end it is told whether there were any, and whether all could be decided.
BlobMoves::Twins BlobMoves::give_up_twins(const BlobMove& move) {
  const auto page = store_.list_blobs(KeyRole::twin, move.from, twins_.after, rules_.step);
  if (page.empty()) {
    const TwinPass ended = std::exchange(twins_, {});
    if (ended.unasked) return Twins::wait;
    return ended.met ? Twins::more : Twins::none;
  }
  std::vector<BlobChange> changes;
  bool waits = false;
  for (auto blob = page.begin(); blob != page.end() && !waits && !stopping_; ++blob) {
    const auto keys = without_twin(move, *blob);
    twins_.after = blob->keys.twin;
    twins_.met = true;
    if (keys) {
      failed_in_a_row_ = 0;
      changes.push_back({blob->keys, *keys});
    } else {
      twins_.unasked = true;
      waits = ++failed_in_a_row_ >= kFailuresInARow;
    }
  }
  if (!changes.empty()) (void)store_.place_blobs(std::move(changes), clock_.now()).take();
  return waits || stopping_ ? Twins::wait : Twins::more;
}

// The copy was read back once, but that may be long ago. Where it is gone or cut short the old bytes are the only ones
// again, and are copied anew. None when the place cannot be asked.
std::optional<BlobKeys> BlobMoves::without_twin(const BlobMove& move, const MovingBlob& blob) {
  try {
    const auto copy = places_.open(blob.keys.key);
    if (copy && std::cmp_equal(copy->size(), blob.size)) return BlobKeys{blob.keys.key, {}};
    failed(blob, fmt::format("its copy in \"{}\" is {}, and is made anew", name_of(move.to),
                             copy ? "of another size" : "not there any more"));
    return BlobKeys{blob.keys.twin, {}};
  } catch (const Unavailable& e) {
    failed(blob, e.what());
    return std::nullopt;
  }
}

}  // namespace restante::desk
