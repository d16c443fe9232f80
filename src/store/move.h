// Moving house: every row of one House into another, and the proof that both hold the same. A move has three steps:
// the source is read once, which gives the move its name; the rows are written in pieces, each one transaction; both
// are compared by count and digest. Then both are heirs of the places where bytes lie (House::release_ownership).
// Killed at any moment, the same move goes on where it was. Throws OpenRefused with a sentence when one of the two is
// not what it must be.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/crypto.h"
#include "store/move_database.h"

namespace restante {

// Over the rows of one table, whatever their order and wherever they are kept.
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
// A name for exactly these rows.
std::string name_of(const Inventory& inventory);

enum class MoveStep { reading, writing, comparing };

// Is told how far a move is.
class MoveWatcher {
 public:
  virtual ~MoveWatcher() = default;
  // `done` of `rows` are there already.
  virtual void begin(MoveStep step, std::int64_t rows, std::int64_t done) = 0;
  virtual void add(std::int64_t rows) = 0;
};

// What a target is before anything is done to it.
enum class TargetState { empty, moving, not_empty };
TargetState state_of(MoveDatabase& database);

// Throws OpenRefused unless it is empty or holds the beginning of a move.
void require_empty_target(MoveDatabase& to);

// What a move would do, found out without changing anything.
struct MovePlan {
  Inventory from;
  TargetState target = TargetState::empty;
  std::int64_t there = 0;  // rows in the target
};
MovePlan plan_move(MoveDatabase& from, MoveDatabase& to, MoveWatcher& watcher);

struct Moved {
  Inventory from;
  Inventory to;
  std::int64_t resumed_at = 0;  // so many rows were there from before
  bool same() const { return from == to; }
};

// Counts and digests of both; nothing is changed.
Moved compare_databases(MoveDatabase& from, MoveDatabase& to, MoveWatcher& watcher);
// Where it ends with a difference, the marker stays, no server will start on the target, and the source is as it was.
Moved move_database(MoveDatabase& from, MoveDatabase& to, MoveWatcher& watcher);

}  // namespace restante
