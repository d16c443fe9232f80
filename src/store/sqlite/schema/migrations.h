// Migrations: migrates the schema up and down in numbered steps. Each step and its row in schema_migrations are one
// transaction, so an interrupted step is either done or not done. The SQL is in the binary. Belongs to the thread of
// its Database. Throws OpenRefused for a file that is not Restante's or too new for this binary.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "store/migration.h"
#include "store/sqlite/database/database.h"

namespace restante::sqlite {

// Everything in migrations/sqlite, in order; generated at build time.
std::span<const Migration> known_migrations();

class Migrations {
 public:
  explicit Migrations(Database& database, std::span<const Migration> known = known_migrations());

  // Refuses a file of another program, and one whose schema this binary must not use. Changes nothing.
  void require_ours();
  // Applied and missing migrations, ordered by number.
  std::vector<MigrationStatus> status();
  // The first migration that is not applied; none when the schema is complete.
  std::optional<MigrationStatus> missing();
  // Applies the missing migrations and returns how many.
  int up(Time now);
  // Reverts the newest migration; false when there was none.
  bool down();

 private:
  bool has_table();
  void create_table();

  Database& database_;
  std::span<const Migration> known_;
};

}  // namespace restante::sqlite
