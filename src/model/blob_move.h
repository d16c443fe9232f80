// BlobMove: all blobs go from one place to another while the servers run. In phase `both` new blobs are written to both
// places and old ones are copied. In `finishing` new blobs are written to the new place alone, and the copies in the
// old place are deleted. In `finished` that is done, and new blobs still go to the new place. Values only.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/error.h"
#include "base/names.h"
#include "model/ids.h"
#include "model/place.h"

namespace restante {

// The server that copies. One server at a time holds the lease.
using WorkerId = Id<struct WorkerTag>;

enum class BlobPhase { both, finishing, finished };
inline constexpr Names<BlobPhase, BlobPhase::finished> kBlobPhases{"both", "finishing", "finished"};
constexpr std::string_view name_of(BlobPhase phase) { return kBlobPhases.of(phase); }
constexpr std::optional<BlobPhase> parse_blob_phase(std::string_view text) { return kBlobPhases.parse(text); }

struct BlobMove {
  Place from = Place::dir;
  Place to = Place::s3;
  BlobPhase phase = BlobPhase::both;
  std::int64_t rate = 0;  // bytes read per second; 0: no limit
  Time begun_at;          // or reversed
  Time phase_at;
  bool operator==(const BlobMove&) const = default;
};

// The result of a request to begin a blob move.
struct BegunBlobMove {
  enum class Step { begun, turned, repeated };
  BlobMove move;
  Step step = Step::begun;
};

// The rule: a move begins when none is in progress; the same request again sets the rate; a request back to the old
// place reverses the move while it is in phase `both`. blob_move_under_way.
Result<BegunBlobMove> begin_blob_move(const std::optional<BlobMove>& was, Place from, Place to, std::int64_t rate,
                                      Time now);

// A blob that rows need, with one of the rows that share it.
struct MovingBlob {
  BlobKeys keys;
  std::int64_t size = 0;
  Digest sha256{};
  WorkspaceId workspace_id;
  FileId file_id;
};

// Which of a row's two keys.
enum class KeyRole { first, twin };

// All rows with the keys `was` get the keys `is`.
struct BlobChange {
  BlobKeys was;
  BlobKeys is;
};

// What rows need in one place: each blob counts once, however many rows share it.
struct PlaceFigures {
  Place place = Place::dir;
  std::int64_t files = 0;
  std::int64_t bytes = 0;
  std::int64_t damaged_files = 0;  // among them
  std::int64_t damaged_bytes = 0;
  std::int64_t twin_files = 0;  // second copies
  std::int64_t twin_bytes = 0;
  bool operator==(const PlaceFigures&) const = default;
};

}  // namespace restante
