#include "store/move_database.h"

#include <fmt/format.h>

namespace restante {

std::optional<std::string> not_movable(const std::vector<MigrationStatus>& schema) {
  for (const MigrationStatus& migration : schema) {
    if (!migration.known) {
      return fmt::format(
          "its schema is newer than this binary (migration {}, {}): move with the restante it was last run by",
          migration.version, migration.name);
    }
    if (!migration.applied_at) {
      return fmt::format(
          "its schema is older than this binary (migration {}, {}, is missing): run restante migrate up on it "
          "first",
          migration.version, migration.name);
    }
  }
  return std::nullopt;
}

}  // namespace restante
