// Schema migrations as values, and OpenRefused, the error for data that cannot be used. Its what() is a sentence for
// the operator. Also the rule which schema a server may start on. Shared by both backends.
#pragma once
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace restante {

struct Migration {
  int version;
  std::string_view name;
  int oldest_binary;  // the newest migration a binary must know to run on this schema
  std::string_view up;
  std::string_view down;
};

// The status of one migration in a database.
struct MigrationStatus {
  int version = 0;
  std::string name;
  std::optional<Time> applied_at;
  bool known = true;  // false: applied by a newer binary
};

// The data cannot be used as it is, and a person has to act.
class OpenRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The newest one that is applied; version 0 when none is.
inline MigrationStatus newest_applied(const std::vector<MigrationStatus>& all) {
  MigrationStatus newest;
  for (const MigrationStatus& one : all) {
    if (one.applied_at && one.version > newest.version) newest = one;
  }
  return newest;
}

inline std::string not_applied(const MigrationStatus& missing) {
  return "migration " + std::to_string(missing.version) + " (" + missing.name + ") has not been applied";
}

// `what`: the part of the database that differs from what this binary knows.
[[noreturn]] inline void refuse_unknown(const std::string& what) {
  throw OpenRefused(what +
                    " of the database is not the one this binary knows: the data was made by a build from between two "
                    "releases; use that build, or move the data away and start afresh");
}

// A server may start on a schema that ends before the tables of uploads, and on a complete one. Throws OpenRefused for
// one in between.
inline void require_usable_schema(bool has_uploads, const std::optional<MigrationStatus>& missing) {
  if (!has_uploads || !missing) return;
  throw OpenRefused(not_applied(*missing) +
                    ", and migrate = false is set: run `restante migrate up` with the same --config, --data or "
                    "--database");
}

}  // namespace restante
