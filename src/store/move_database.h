// House: a database as a move sees it, which is tables full of rows and nothing else. A row has one form whatever the
// backend: a value is what SQLite would keep (times are microseconds since 1970, ids and digests are bytes, JSON is
// text), and the columns are in the order of their names. Which tables there are is asked of the database itself, so
// that none is forgotten. Belongs to one thread. Throws OpenRefused with a sentence for the operator, and Unavailable.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "store/migration.h"

namespace restante {

// A backend that does not tell times from numbers says integer for both.
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

// What is going to be done with one. A source keeps every row that is moved; what is only looked at is not even
// created.
enum class MoveUse { source, target, look };

// The table that says that a move into this database has not finished; its only row names the move.
inline constexpr const char* kMoveMarker = "moving_house";
inline constexpr const char* kHalfMoved =
    "a move into this database has not finished: run the same restante move again, which goes on where it was, or "
    "throw the database away";

// What a server writes by merely starting: whoever has no more than that has nothing, and loses it when a move begins.
inline constexpr const char* kFilledByAStart = "place_marks";

class MoveDatabase {
 public:
  virtual ~MoveDatabase() = default;

  // What is moved, by name; nothing where there is no schema yet.
  virtual std::vector<MoveTable> tables() = 0;
  // Tables that are this backend's own affair and stay behind.
  virtual std::vector<std::string> excluded_tables() = 0;
  virtual std::int64_t count(const MoveTable& table) = 0;
  // All rows, in an order that is the same each time. `visit` must not use this house.
  virtual void each_row(const MoveTable& table, const std::function<void(MoveRow&&)>& visit) = 0;

  // The name of the move that has begun to fill this house and has not finished.
  virtual std::optional<std::string> marker() = 0;
  // Makes the schema what this binary knows.
  virtual void prepare() = 0;
  virtual void begin(const std::string& marker) = 0;
  // All of them or none; durable on return. Tables are filled in the order of tables().
  virtual void put(const MoveTable& table, std::span<const MoveRow> rows) = 0;
  // Of a source whose rows are all in the target: this database is no longer the post office whose marks lie in the
  // places. Of the two, whichever a server starts on first takes them over, and the other finds them taken. Durable on
  // return; done twice, it is done.
  virtual void release_ownership() = 0;
  // What is numbered goes on from the highest number; the marker is gone. Durable on return.
  virtual void finish() = 0;
};

// The sentence for a source that this binary must not read, because tables may be missing or not known to it; nothing
// where the schema is exactly the one that this binary knows.
std::optional<std::string> not_movable(const std::vector<MigrationStatus>& schema);

}  // namespace restante
