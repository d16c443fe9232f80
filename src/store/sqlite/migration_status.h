// What is known about one migration of a database. Values only.
#pragma once
#include <optional>
#include <string>

#include "base/clock.h"

namespace restante::sqlite {

struct MigrationStatus {
  int version = 0;
  std::string name;
  std::optional<Time> applied_at;
  bool known = true;  // false: applied by a newer binary
};

}  // namespace restante::sqlite
