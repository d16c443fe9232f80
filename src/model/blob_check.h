// BlobCheckRow is the last check of all stored blobs, or the running one, as every server sees it. One server at a
// time runs it, as long as it renews its lease; a server that died leaves the row as it last wrote it. Progress and
// findings are JSON that desk/blob_checks/report writes and reads; the store only keeps them. Values only.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/names.h"
#include "model/blob_move.h"

namespace restante {

enum class BlobCheckState { running, done, stopped, failed };
inline constexpr Names<BlobCheckState, BlobCheckState::failed> kBlobCheckStates{"running", "done", "stopped", "failed"};
constexpr std::string_view name_of(BlobCheckState state) { return kBlobCheckStates.of(state); }
constexpr std::optional<BlobCheckState> parse_blob_check_state(std::string_view text) {
  return kBlobCheckStates.parse(text);
}

struct BlobCheckRow {
  BlobCheckState state = BlobCheckState::running;
  bool mend = false;
  Time begun_at;
  WorkerId worker;
  Time worker_until;
  std::string progress;
  std::string findings;
  std::optional<Time> ended_at;
  bool operator==(const BlobCheckRow&) const = default;
};

struct NewBlobCheck {
  bool mend = false;
  WorkerId worker;
  Time worker_until;
  std::string progress;
  std::string findings;
  std::optional<WorkerId> gone;  // a server that is known to have ended, whatever its lease is
};

// The server that runs the check writes this.
struct BlobCheckUpdate {
  WorkerId worker;
  Time begun_at;
  Time worker_until;
  std::string progress;
  std::optional<std::string> findings;  // unset: unchanged
  BlobCheckState state = BlobCheckState::running;
  std::optional<Time> ended_at;  // set for every other state
};

// The rule: a check begins when none is running, or when the server that ran it has ended. blob_check_running.
Result<BlobCheckRow> begin_blob_check(const std::optional<BlobCheckRow>& was, const NewBlobCheck& wanted, Time now);

}  // namespace restante
