// Migrations as values: what every backend with a schema knows about its steps, and how it says no. `what()` of an
// OpenRefused is a sentence for the operator.
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

// What is known about one migration of a database.
struct MigrationStatus {
  int version = 0;
  std::string name;
  std::optional<Time> applied_at;
  bool known = true;  // false: applied by a newer binary
};

// This data cannot be worked on as it is, and a person has to act.
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

}  // namespace restante
