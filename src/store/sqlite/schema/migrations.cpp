#include "store/sqlite/schema/migrations.h"

#include "store/sqlite/schema/opening.h"

namespace restante::sqlite {
namespace {

// "REST": marks the file as Restante's.
constexpr std::int64_t kApplicationId = 0x52455354;

std::int64_t single_integer(Database& database, std::string_view sql) { return database.query(sql).front().integer(0); }

void run_step(Database& database, std::string_view script) {
  database.execute(std::string(script));
  if (!database.in_transaction()) throw std::logic_error("a migration ended its transaction");
}

}  // namespace

bool Migrations::has_table() {
  return single_integer(session_, "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_migrations'") != 0;
}

void Migrations::create_table() {
  in_transaction(session_, [&] {
    session_.execute(fmt::format("PRAGMA application_id = {}", kApplicationId));
    session_.run(
        "CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL, "
        "oldest_binary INTEGER NOT NULL, digest BLOB NOT NULL) STRICT");
  });
}

bool Migrations::require_our_tables() {
  if (single_integer(session_, "SELECT count(*) FROM sqlite_schema") == 0) return false;
  if (single_integer(session_, "PRAGMA application_id") != kApplicationId || !has_table()) {
    throw OpenRefused("the database is not Restante's; it was left as it is");
  }
  if (single_integer(session_, "SELECT count(*) FROM pragma_table_info('schema_migrations') WHERE name = 'digest'") ==
      0)
    refuse_unknown("the table of migrations");
  return true;
}

int Migrations::up(Time now) {
  return apply_missing([&](const Migration& migration) {
    in_transaction(session_, [&] {
      run_step(session_, migration.up);
      session_.run(
          "INSERT INTO schema_migrations (version, name, applied_at, oldest_binary, digest) VALUES (?, ?, ?, ?, ?)",
          migration.version, migration.name, now, migration.oldest_binary, sha256(migration.up));
    });
  });
}

void Migrations::revert(const Migration& migration) {
  try {
    in_transaction(session_, [&] {
      run_step(session_, migration.down);
      session_.run("DELETE FROM schema_migrations WHERE version = ?", migration.version);
    });
  } catch (const ConstraintFailed& refused) {
    // A down step that would lose data violates a constraint on purpose.
    throw OpenRefused(fmt::format("migration {} cannot be undone: {}", migration.version, refused.what()));
  }
}

}  // namespace restante::sqlite
