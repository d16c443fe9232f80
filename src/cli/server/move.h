// `restante move`: moves all rows of one database into another, and the files of the data directory, while no server
// runs on either. Works on the databases directly. Progress goes to stderr, as a bar on a terminal and as plain lines
// otherwise; the report goes to stdout.
#pragma once
#include <string>
#include <vector>

#include "cli/terminal/table.h"
#include "server/places/move_data.h"
#include "store/move.h"

namespace restante::cli {

struct MoveOptions {
  std::string from;     // sqlite://PATH or postgres://…
  std::string to;       // likewise
  std::string data;     // the old server's directory; empty: beside the SQLite file
  std::string data_to;  // the new server's; empty: the same
  bool dry_run = false;
  bool verify = false;  // only compare
  bool json = false;
};

// Returns the exit code.
int move(const MoveOptions& options);

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
