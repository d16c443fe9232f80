// The database move: copies every row of one MoveDatabase to another and proves that both hold the same rows. It has
// three steps: read the source once and compute the id of the move, a digest of all its rows; write the rows in pieces
// of one transaction each; compare both by count and digest. Then the target gets the installation's id and the source
// loses it, so that only the target owns the places of the blobs. A move that was killed continues where it stopped.
// Throws OpenRefused with a sentence for the operator when one of the two databases cannot be used.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/crypto.h"
#include "store/move_database.h"

namespace restante {

// The digest of the rows of one table. It does not depend on their order or on the backend.
class RowsDigest {
 public:
  explicit RowsDigest(const MoveTable& table) : table_(table) {}
  void add(const MoveRow& row);
  std::int64_t rows() const { return rows_; }
  const Digest& digest() const { return sum_; }

 private:
  const MoveTable& table_;
  std::int64_t rows_ = 0;
  Digest sum_{};
};

struct TableInventory {
  std::string name;
  std::int64_t rows = 0;
  Digest digest{};
  bool operator==(const TableInventory&) const = default;
};
using Inventory = std::vector<TableInventory>;

std::int64_t rows_of(const Inventory& inventory);
// The id of a move: a digest of all these rows.
std::string move_id_of(const Inventory& inventory);

enum class MoveStep { reading, writing, comparing };

// Receives the progress of a move, on the thread of the move.
class MoveWatcher {
 public:
  virtual ~MoveWatcher() = default;
  // `done` of `rows` are done already.
  virtual void begin(MoveStep step, std::int64_t rows, std::int64_t done) = 0;
  virtual void add(std::int64_t rows) = 0;
};

// The state of a target before the move; `moving`: it holds the beginning of a move.
enum class TargetState { empty, moving, not_empty };
TargetState state_of(MoveDatabase& database);

// Throws OpenRefused when the target is not empty and holds no beginning of a move.
void require_empty_target(MoveDatabase& to);

// What a move would do. plan_move() changes nothing.
struct MovePlan {
  Inventory from;
  TargetState target = TargetState::empty;
  std::int64_t there = 0;  // rows in the target
};
MovePlan plan_move(MoveDatabase& from, MoveDatabase& to, MoveWatcher& watcher);

struct Moved {
  Inventory from;
  Inventory to;
  std::int64_t resumed_at = 0;  // rows that an interrupted move had written before
  bool same() const { return from == to; }
};

// Counts and digests of both; changes nothing.
Moved compare_databases(MoveDatabase& from, MoveDatabase& to, MoveWatcher& watcher);
// If the comparison finds a difference, the marker stays, no server starts on the target, and the source is unchanged.
Moved move_database(MoveDatabase& from, MoveDatabase& to, MoveWatcher& watcher);

}  // namespace restante
