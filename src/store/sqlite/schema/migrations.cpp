#include "store/sqlite/schema/migrations.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace restante::sqlite {
namespace {

// "REST": marks the file as Restante's.
constexpr std::int64_t kApplicationId = 0x52455354;

template <class Step>
void in_transaction(Database& database, Step step) {
  database.run("BEGIN IMMEDIATE");
  try {
    step();
    if (!database.in_transaction()) throw std::logic_error("a migration ended its transaction");
    database.run("COMMIT");
  } catch (...) {
    database.rollback();
    throw;
  }
}

std::int64_t single_integer(Database& database, std::string_view sql) {
  Statement row = database.query(sql);
  return row.step() ? row.integer(0) : 0;
}

std::string not_the_same(const std::string& what) {
  return what +
         " of the database is not the one this binary knows: the data was made by a build from between two releases; "
         "use that build, or move the data away and start afresh";
}

}  // namespace

Migrations::Migrations(Database& database, std::span<const Migration> known) : database_(database), known_(known) {}

bool Migrations::has_table() {
  return single_integer(database_, "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_migrations'") != 0;
}

void Migrations::create_table() {
  in_transaction(database_, [&] {
    database_.execute(fmt::format("PRAGMA application_id = {}", kApplicationId));
    database_.run(
        "CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL, "
        "oldest_binary INTEGER NOT NULL, digest BLOB NOT NULL) STRICT");
  });
}

void Migrations::require_ours() {
  const bool empty = single_integer(database_, "SELECT count(*) FROM sqlite_schema") == 0;
  if (empty) return;
  if (single_integer(database_, "PRAGMA application_id") != kApplicationId || !has_table()) {
    throw OpenRefused("the database is not Restante's; it was left as it is");
  }
  if (single_integer(database_, "SELECT count(*) FROM pragma_table_info('schema_migrations') WHERE name = 'digest'") ==
      0)
    throw OpenRefused(not_the_same("the table of migrations"));
  const int newest = known_.empty() ? 0 : known_.back().version;
  Statement row =
      database_.query("SELECT version, name, oldest_binary, digest FROM schema_migrations ORDER BY version");
  while (row.step()) {
    const std::int64_t version = row.integer(0);
    if (version <= newest) {
      const auto& known = known_[static_cast<std::size_t>(version - 1)];
      if (row.view(1) == known.name && row.digest(3) == sha256(known.up)) continue;
      throw OpenRefused(not_the_same(fmt::format("migration {} ({})", version, known.name)));
    }
    if (row.integer(2) > newest) {
      throw OpenRefused(
          fmt::format("the database is too new for this binary: it is at migration {} and needs a binary that knows "
                      "migration {}, this one knows {}; use the newer binary, or let it migrate down",
                      version, row.integer(2), newest));
    }
  }
}

std::vector<MigrationStatus> Migrations::status() {
  std::vector<MigrationStatus> all;
  for (const auto& migration : known_) all.push_back({migration.version, std::string(migration.name), {}, true});
  if (!has_table()) return all;
  Statement row = database_.query("SELECT version, name, applied_at FROM schema_migrations ORDER BY version");
  while (row.step()) {
    const auto version = static_cast<int>(row.integer(0));
    const auto known = std::ranges::find(all, version, &MigrationStatus::version);
    if (known != all.end()) {
      known->applied_at = row.time(2);
    } else {
      all.push_back({version, row.text(1), row.time(2), false});
    }
  }
  return all;
}

std::optional<MigrationStatus> Migrations::missing() {
  for (auto& migration : status()) {
    if (!migration.applied_at) return std::move(migration);
  }
  return std::nullopt;
}

int Migrations::up(Time now) {
  require_ours();
  if (!has_table()) create_table();
  int applied = 0;
  for (const auto& state : status()) {
    if (state.applied_at) continue;
    const auto& migration = known_[static_cast<std::size_t>(state.version - 1)];
    in_transaction(database_, [&] {
      database_.execute(std::string(migration.up));
      database_.run(
          "INSERT INTO schema_migrations (version, name, applied_at, oldest_binary, digest) VALUES (?, ?, ?, ?, ?)",
          migration.version, migration.name, now, migration.oldest_binary, sha256(migration.up));
    });
    ++applied;
  }
  return applied;
}

bool Migrations::down() {
  require_ours();
  if (!has_table()) return false;
  const std::int64_t newest = single_integer(database_, "SELECT max(version) FROM schema_migrations");
  if (newest == 0) return false;
  if (newest > std::ssize(known_)) {
    throw OpenRefused(fmt::format("migration {} came from a newer binary; only that one can undo it", newest));
  }
  const auto& migration = known_[static_cast<std::size_t>(newest - 1)];
  try {
    in_transaction(database_, [&] {
      database_.execute(std::string(migration.down));
      database_.run("DELETE FROM schema_migrations WHERE version = ?", migration.version);
    });
  } catch (const ConstraintFailed& refused) {
    // A down step that would lose data violates a constraint on purpose.
    throw OpenRefused(fmt::format("migration {} cannot be undone: {}", newest, refused.what()));
  }
  return true;
}

}  // namespace restante::sqlite
