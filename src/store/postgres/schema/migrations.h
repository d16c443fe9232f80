// Migrations applies and undoes numbered changes of the schema. Each step and its row in schema_migrations are one
// transaction, so an interruption leaves the state before or after the step. Servers that start at the same time
// migrate one after the other, by an advisory lock. The SQL is in the binary. Belongs to the thread of its Connection.
// Throws OpenRefused for a database that is not ours or too new for this binary.
#pragma once
#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "store/migration.h"
#include "store/postgres/connections/connection.h"

namespace restante::postgres {

// Everything in migrations/postgres, in order; generated at build time.
std::span<const Migration> known_migrations();

class Migrations {
 public:
  // `patience`: how long it waits for the lock. Another server may apply all steps, and building an index takes time.
  explicit Migrations(Connection& connection, std::span<const Migration> known = known_migrations(),
                      std::chrono::milliseconds patience = std::chrono::minutes(10));

  // Throws OpenRefused for a foreign database, and for one whose schema this binary must not touch. Changes nothing.
  void require_ours();
  // Applied and missing ones, by number.
  std::vector<MigrationStatus> status();
  // The first one that is missing; none when the schema is complete.
  std::optional<MigrationStatus> missing();
  // Applies the missing ones and returns how many there were.
  int up();
  // Takes the newest one back; false when there was none.
  bool down();

 private:
  class MigrationLock;

  bool has_table();
  void create_table();

  Connection& connection_;
  std::span<const Migration> known_;
  const std::chrono::milliseconds patience_;
};

}  // namespace restante::postgres
