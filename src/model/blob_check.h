// BlobCheck: the last look at everything that is kept, or the one under way, as every server sees it. One server at a
// time does it, for as long as it renews its lease; one that died leaves its row as it was last written. What it has
// done and found so far is the desk's text, which the store does not read. Values only.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "model/blob_move.h"

namespace restante {

enum class BlobCheckState { running, done, stopped, failed };
std::string_view name_of(BlobCheckState state);
std::optional<BlobCheckState> parse_blob_check_state(std::string_view text);

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
  std::optional<WorkerId> gone;  // one that is known to be, whatever its lease says
};

// What its server says about the one it does.
struct BlobCheckUpdate {
  WorkerId worker;
  Time begun_at;
  Time worker_until;
  std::string progress;
  std::optional<std::string> findings;  // unset: as they were
  BlobCheckState state = BlobCheckState::running;
  std::optional<Time> ended_at;  // of any other state
};

// The rule: one begins where none is under way, or where whoever did it is gone. blob_check_running.
Result<BlobCheckRow> begin_blob_check(const std::optional<BlobCheckRow>& was, const NewBlobCheck& wanted, Time now);

}  // namespace restante
