// BlobMove: bytes change over from one place to another while the server runs. In phase `both` new bytes go to both and
// old ones are copied; in `finishing` new ones go to the new place alone and what is left in the old one leaves; in
// `finished` that is done, and the new place stays the one that is written to. Values only.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/error.h"
#include "model/ids.h"
#include "model/place.h"

namespace restante {

// Who copies. One server at a time holds the lease.
using WorkerId = Id<struct WorkerTag>;

enum class BlobPhase { both, finishing, finished };
std::string_view name_of(BlobPhase phase);
std::optional<BlobPhase> parse_blob_phase(std::string_view text);

struct BlobMove {
  Place from = Place::dir;
  Place to = Place::s3;
  BlobPhase phase = BlobPhase::both;
  std::int64_t rate = 0;  // bytes a second that are read; 0: as fast as it goes
  Time begun_at;          // or turned
  Time phase_at;
  bool operator==(const BlobMove&) const = default;
};

// What came of the wish to begin one.
struct BegunBlobMove {
  enum class Step { begun, turned, repeated };
  BlobMove move;
  Step step = Step::begun;
};

// The rule: where none is under way it begins; the same again sets the rate; back to where it came from turns it, as
// long as it is in phase `both`. blob_move_under_way.
Result<BegunBlobMove> begin_blob_move(const std::optional<BlobMove>& was, Place from, Place to, std::int64_t rate,
                                      Time now);

// Bytes that rows need, with one of the rows that share them.
struct MovingBlob {
  BlobKeys keys;
  std::int64_t size = 0;
  Digest sha256{};
  WorkspaceId workspace_id;
  FileId file_id;
};

// Which of a row's keys is meant.
enum class KeyRole { first, twin };

// All rows that have the one get the other.
struct BlobChange {
  BlobKeys was;
  BlobKeys is;
};

// What rows need of one place: each blob once, however many rows share it.
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
