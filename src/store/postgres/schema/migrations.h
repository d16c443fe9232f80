// Migrations of a PostgreSQL database: see store/sql/migrations.h. Servers that start at the same time migrate one
// after the other, by an advisory lock, which also rolls back an interrupted step. Belongs to the thread of its
// Connection.
#pragma once
#include <chrono>

#include "store/postgres/connections/connection.h"
#include "store/sql/migrations.h"

namespace restante::postgres {

// Everything in migrations/postgres, in order; generated at build time.
std::span<const Migration> known_migrations();

class Migrations final : public SqlMigrations<Connection> {
 public:
  // `patience`: how long it waits for the lock. Another server may apply all steps, and building an index takes time.
  explicit Migrations(Connection& connection, std::span<const Migration> known = known_migrations(),
                      std::chrono::milliseconds patience = std::chrono::minutes(10))
      : SqlMigrations(connection, known), patience_(patience) {}

  // Applies the missing ones and returns how many there were.
  int up();
  // Takes the newest one back; false when there was none.
  bool down();

 private:
  bool require_our_tables() override;
  bool has_table() override;
  void create_table() override;
  void revert(const Migration& migration) override;

  const std::chrono::milliseconds patience_;
};

}  // namespace restante::postgres
