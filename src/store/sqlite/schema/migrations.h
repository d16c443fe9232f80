// Migrations of a SQLite file: see store/sql/migrations.h. Belongs to the thread of its Database.
#pragma once
#include "store/sql/migrations.h"
#include "store/sqlite/database/database.h"

namespace restante::sqlite {

// Everything in migrations/sqlite, in order; generated at build time.
std::span<const Migration> known_migrations();

class Migrations final : public SqlMigrations<Database> {
 public:
  explicit Migrations(Database& database, std::span<const Migration> known = known_migrations())
      : SqlMigrations(database, known) {}

  // Applies the missing migrations and returns how many.
  int up(Time now);
  // Reverts the newest migration; false when there was none.
  bool down() { return revert_newest(); }

 private:
  bool require_our_tables() override;
  bool has_table() override;
  void create_table() override;
  void revert(const Migration& migration) override;
};

}  // namespace restante::sqlite
