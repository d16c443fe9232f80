// Migrations: brings the schema up and down in numbered steps. Each step and its row in schema_migrations are one
// transaction, so an interruption leaves the step before or the step after. Servers that start at once take turns by an
// advisory lock. The SQL is in the binary. Belongs to the thread of its Connection. Throws OpenRefused for a database
// that is not ours or too new for this binary.
#pragma once
#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "store/migration.h"
#include "store/postgres/connection.h"

namespace restante::postgres {

// Everything in migrations/postgres, in order; generated at build time.
std::span<const Migration> known_migrations();

class Migrations {
 public:
  // How long it waits for its turn: another server's whole set, and building an index takes its time.
  explicit Migrations(Connection& connection, std::span<const Migration> known = known_migrations(),
                      std::chrono::milliseconds patience = std::chrono::minutes(10));

  // Refuses a foreign database, and one whose schema this binary must not touch. Changes nothing.
  void require_ours();
  // Applied and waiting ones, by number.
  std::vector<MigrationStatus> status();
  // The first one that waits; none when the schema is complete.
  std::optional<MigrationStatus> missing();
  // Applies what waits and tells how many that were.
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
