// The report of `restante move`. Pure.
#pragma once
#include <string>
#include <vector>

#include "cli/terminal/table.h"
#include "server/places/move_data.h"
#include "store/move.h"

namespace restante::cli {

// The result of a move, a dry run or a comparison. `to` is empty when nothing was written or compared.
struct MoveReport {
  enum class Outcome { would_move, moved, same, different } outcome = Outcome::moved;
  TargetState target = TargetState::empty;  // before anything was done
  std::int64_t resumed_at = 0;
  Inventory from;
  Inventory to;
  std::string data;  // where the files are afterwards
  bool copies = false;
  CopiedData copied_data;
  std::uint64_t objects = 0;  // in S3, where they stay
};

std::string format_move(const MoveReport& report, Colours colours);
std::string move_json(const MoveReport& report);

}  // namespace restante::cli
