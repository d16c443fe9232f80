// MoveDatabase: a database as a database move uses it: tables and their rows. A row has the same form in every backend:
// a value is what SQLite would store (times are microseconds since 1970, ids and digests are bytes, JSON is text), and
// the columns are in the order of their names. The list of tables comes from the database itself, so that none is
// forgotten. Belongs to one thread. Throws OpenRefused with a sentence for the operator, and Unavailable.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "store/migration.h"

namespace restante {

// A backend that cannot distinguish times from numbers uses integer for both.
enum class ColumnKind { integer, time, real, text, bytes };

struct MoveColumn {
  std::string name;
  ColumnKind kind;
  bool operator==(const MoveColumn&) const = default;
};

struct MoveTable {
  std::string name;
  std::vector<MoveColumn> columns;  // by name
};

struct MoveBytes {
  std::string bytes;
  bool operator==(const MoveBytes&) const = default;
};

using MoveValue = std::variant<std::monostate, std::int64_t, double, std::string, MoveBytes>;
using MoveRow = std::vector<MoveValue>;

// How the database is opened. No row of a source is changed or deleted while it is copied. `read_only`
// does not create a missing database.
enum class MoveUse { source, target, read_only };

// This table exists while a move into the database has not finished; its only row is the id of the move. Its name
// stays: a server of 0.1.0 looks for it and must not start on such a database.
inline constexpr const char* kMoveMarker = "moving_house";
inline constexpr const char* kHalfMoved =
    "a move into this database has not finished: run the same restante move again, which continues where it stopped, "
    "or delete the database";

// The table with the installation's id. The database that has the id owns the places of the blobs. It is moved last,
// and is not compared: the source loses it.
inline constexpr std::string_view kInstallationTable = "post_offices";

// The tables that a server fills when it starts. A target with rows in these only counts as empty; begin() deletes
// them.
inline constexpr std::string_view kTablesFilledAtStart[] = {"place_marks", "server_clock", "trial_writes",
                                                            kInstallationTable};

class MoveDatabase {
 public:
  virtual ~MoveDatabase() = default;

  // The tables to move, ordered by name; none when there is no schema yet.
  virtual std::vector<MoveTable> tables() = 0;
  // Tables that only this backend needs and that are not moved.
  virtual std::vector<std::string> excluded_tables() = 0;
  virtual std::int64_t count(const MoveTable& table) = 0;
  // All rows, in an order that is the same each time. `visit` must not use this database.
  virtual void each_row(const MoveTable& table, const std::function<void(MoveRow&&)>& visit) = 0;

  // The id of the unfinished move into this database, if there is one.
  virtual std::optional<std::string> marker() = 0;
  // Migrates the schema to the version of this binary.
  virtual void prepare() = 0;
  virtual void begin(const std::string& marker) = 0;
  // Inserts all rows or none; durable on return. Tables are filled in the order of tables().
  virtual void put(const MoveTable& table, std::span<const MoveRow> rows) = 0;
  // For a source whose rows and installation id are in the target: deletes the id here. A server that starts on this
  // database gets another id and is refused by the places of the blobs. Durable on return; may be called again.
  virtual void release_ownership() = 0;
  // Sets sequences to the highest used number and deletes the marker. Durable on return.
  virtual void finish() = 0;
};

// Why this binary must not read a source with this schema (tables may be missing, or unknown to it); none when the
// schema is exactly the one that this binary knows.
std::optional<std::string> not_movable(const std::vector<MigrationStatus>& schema);

}  // namespace restante
