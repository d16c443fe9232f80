#include "store/move.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "base/text.h"

namespace restante {
namespace {

// The size of one transaction: large enough that its sync does not matter, small enough that a kill costs little.
constexpr std::size_t kPieceRows = 500;
constexpr std::size_t kPieceBytes = 4 << 20;
// 10000-01-01 in microseconds. A later time means never: PostgreSQL stores it as infinity.
constexpr std::int64_t kNever = 253'402'300'800'000'000;

void put_int64(std::string& out, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  for (int shift = 56; shift >= 0; shift -= 8) out.push_back(static_cast<char>(bits >> shift));
}

void put_sized(std::string& out, char tag, std::string_view bytes) {
  out.push_back(tag);
  put_int64(out, std::ssize(bytes));
  out += bytes;
}

std::int64_t same_everywhere(std::int64_t value, ColumnKind kind) {
  if (kind != ColumnKind::time) return value;
  if (value >= kNever) return std::numeric_limits<std::int64_t>::max();
  if (value <= -kNever) return std::numeric_limits<std::int64_t>::min();
  return value;
}

struct Encoder {
  std::string& out;
  ColumnKind kind;
  void operator()(std::monostate) const { out.push_back('n'); }
  void operator()(std::int64_t value) const {
    out.push_back('i');
    put_int64(out, same_everywhere(value, kind));
  }
  void operator()(double value) const {
    out.push_back('r');
    put_int64(out, std::bit_cast<std::int64_t>(value));
  }
  void operator()(const std::string& value) const { put_sized(out, 't', value); }
  void operator()(const MoveBytes& value) const { put_sized(out, 'b', value.bytes); }
};

std::size_t size_of(const MoveRow& row) {
  std::size_t size = 0;
  for (const MoveValue& value : row) {
    if (const auto* text = std::get_if<std::string>(&value)) size += text->size();
    if (const auto* bytes = std::get_if<MoveBytes>(&value)) size += bytes->bytes.size();
  }
  return size;
}

bool is_number(ColumnKind kind) { return kind == ColumnKind::integer || kind == ColumnKind::time; }

[[noreturn]] void refuse_difference(const std::string& what) {
  throw OpenRefused(fmt::format(
      "the two databases do not have the same tables and columns ({}): this restante cannot move them", what));
}

// The table with the kinds of both databases: only one of them may know which numbers are times.
MoveTable merge(const MoveTable& one, const MoveTable& other) {
  if (one.name != other.name) refuse_difference(std::min(one.name, other.name));
  MoveTable merged = one;
  if (one.columns.size() != other.columns.size()) refuse_difference(one.name);
  for (std::size_t i = 0; i < one.columns.size(); ++i) {
    const MoveColumn& a = one.columns[i];
    const MoveColumn& b = other.columns[i];
    const bool alike = a.kind == b.kind || (is_number(a.kind) && is_number(b.kind));
    if (a.name != b.name || !alike) refuse_difference(one.name + "." + std::min(a.name, b.name));
    if (b.kind == ColumnKind::time) merged.columns[i].kind = b.kind;
  }
  return merged;
}

std::vector<MoveTable> compared_tables(MoveDatabase& database) {
  auto tables = database.tables();
  std::erase_if(tables, [](const MoveTable& table) { return table.name == kInstallationTable; });
  return tables;
}

std::vector<MoveTable> common_tables(MoveDatabase& from, MoveDatabase& to) {
  std::vector<MoveTable> common;
  const auto ours = compared_tables(from);
  const auto theirs = compared_tables(to);
  for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
    if (i >= ours.size()) refuse_difference(theirs[i].name);
    if (i >= theirs.size()) refuse_difference(ours[i].name);
    common.push_back(merge(ours[i], theirs[i]));
  }
  return common;
}

std::int64_t count_all(MoveDatabase& database, const std::vector<MoveTable>& tables) {
  std::int64_t rows = 0;
  for (const MoveTable& table : tables) rows += database.count(table);
  return rows;
}

Inventory inventory_of(MoveDatabase& database, const std::vector<MoveTable>& tables, MoveStep step,
                       MoveWatcher& watcher) {
  watcher.begin(step, count_all(database, tables), 0);
  Inventory inventory;
  for (const MoveTable& table : tables) {
    RowsDigest digest(table);
    database.each_row(table, [&](MoveRow&& row) {
      digest.add(row);
      watcher.add(1);
    });
    inventory.push_back({table.name, digest.rows(), digest.digest()});
  }
  return inventory;
}

// Copies the rows of one table except the first `there` ones. These are in the target already, since the order of rows
// is always the same.
void copy_rows(MoveDatabase& from, MoveDatabase& to, const MoveTable& table, std::int64_t there, MoveWatcher& watcher) {
  std::vector<MoveRow> piece;
  std::size_t bytes = 0;
  const auto put = [&] {
    to.put(table, piece);
    watcher.add(std::ssize(piece));
    piece.clear();
    bytes = 0;
  };
  from.each_row(table, [&](MoveRow&& row) {
    if (there > 0) {
      --there;
      return;
    }
    bytes += size_of(row);
    piece.push_back(std::move(row));
    if (piece.size() >= kPieceRows || bytes >= kPieceBytes) put();
  });
  if (!piece.empty()) put();
}

void require_target(const std::optional<std::string>& marker, const std::string& id) {
  if (!marker || *marker == id) return;
  throw OpenRefused(
      "the target holds the beginning of another move, or the source has changed since that move began: drop and "
      "create the target, then start the move again");
}

// In this order: before a server can start on the target, the source must have lost the id. Else servers could start on
// both and use the same places.
void finish_move(MoveDatabase& from, MoveDatabase& to) {
  const MoveTable table{std::string(kInstallationTable), {}};
  // The target has the id already if the move was killed here. A server that started on the source since then has given
  // the source another id.
  if (to.count(table) == 0) from.each_row(table, [&](MoveRow&& row) { to.put(table, std::span(&row, 1)); });
  from.release_ownership();
  to.finish();
}

}  // namespace

void RowsDigest::add(const MoveRow& row) {
  std::string encoded;
  for (std::size_t i = 0; i < row.size(); ++i) std::visit(Encoder{encoded, table_.columns.at(i).kind}, row[i]);
  // A sum, so that the order does not matter; of digests, so that nothing cancels out.
  const Digest one = sha256(encoded);
  unsigned carry = 0;
  for (std::size_t i = sum_.size(); i-- > 0;) {
    carry += unsigned{sum_[i]} + unsigned{one[i]};
    sum_[i] = static_cast<std::uint8_t>(carry);
    carry >>= 8;
  }
  ++rows_;
}

std::int64_t rows_of(const Inventory& inventory) {
  std::int64_t rows = 0;
  for (const TableInventory& table : inventory) rows += table.rows;
  return rows;
}

std::string move_id_of(const Inventory& inventory) {
  std::string all;
  for (const TableInventory& table : inventory) {
    put_sized(all, 't', table.name);
    put_int64(all, table.rows);
    all.append(reinterpret_cast<const char*>(table.digest.data()), table.digest.size());
  }
  return to_hex(sha256(all));
}

TargetState state_of(MoveDatabase& database) {
  if (database.marker()) return TargetState::moving;
  auto tables = database.tables();
  std::erase_if(tables, [](const MoveTable& table) {
    return std::ranges::find(kTablesFilledAtStart, table.name) != std::end(kTablesFilledAtStart);
  });
  return count_all(database, tables) == 0 ? TargetState::empty : TargetState::not_empty;
}

void require_empty_target(MoveDatabase& to) {
  if (state_of(to) != TargetState::not_empty) return;
  throw OpenRefused(
      "the target is not empty: a move needs an empty database, since ids and numbers are kept (if a move into it has "
      "just ended, --verify compares the two)");
}

MovePlan plan_move(MoveDatabase& from, MoveDatabase& to, MoveWatcher& watcher) {
  MovePlan plan;
  plan.target = state_of(to);
  plan.there = plan.target == TargetState::empty ? 0 : count_all(to, compared_tables(to));
  const bool begun = plan.target == TargetState::moving;
  plan.from = inventory_of(from, begun ? common_tables(from, to) : compared_tables(from), MoveStep::reading, watcher);
  if (begun) require_target(to.marker(), move_id_of(plan.from));
  return plan;
}

Moved compare_databases(MoveDatabase& from, MoveDatabase& to, MoveWatcher& watcher) {
  const auto tables = common_tables(from, to);
  Moved moved;
  moved.from = inventory_of(from, tables, MoveStep::reading, watcher);
  moved.to = inventory_of(to, tables, MoveStep::comparing, watcher);
  return moved;
}

Moved move_database(MoveDatabase& from, MoveDatabase& to, MoveWatcher& watcher) {
  require_empty_target(to);
  const auto marker = to.marker();
  if (!marker) to.prepare();
  const auto tables = common_tables(from, to);
  Moved moved;
  moved.from = inventory_of(from, tables, MoveStep::reading, watcher);
  const std::string id = move_id_of(moved.from);
  require_target(marker, id);
  if (!marker) to.begin(id);
  moved.resumed_at = count_all(to, tables);
  watcher.begin(MoveStep::writing, rows_of(moved.from), moved.resumed_at);
  for (const MoveTable& table : tables) copy_rows(from, to, table, to.count(table), watcher);
  moved.to = inventory_of(to, tables, MoveStep::comparing, watcher);
  if (moved.same()) finish_move(from, to);
  return moved;
}

}  // namespace restante
