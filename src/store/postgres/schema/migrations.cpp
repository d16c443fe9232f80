#include "store/postgres/schema/migrations.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace restante::postgres {
namespace {

// "RESTANTE" in eight bytes: other users of advisory locks in this database use other numbers.
constexpr std::int64_t kLockNumber = 0x5245'5354'414E'5445;
constexpr auto kAskAgain = std::chrono::milliseconds(50);

std::string not_the_same(const std::string& what) {
  return what +
         " of the database is not the one this binary knows: the data was made by a build from between two releases; "
         "use that build, or move the data away and start afresh";
}

}  // namespace

// Holds the advisory lock. It polls for the lock instead of waiting for it: a statement that waits is ended by its
// timeout, and blocks every index that is built concurrently.
class Migrations::MigrationLock {
 public:
  MigrationLock(Connection& connection, std::chrono::milliseconds patience) : connection_(connection) {
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!connection_.query("SELECT pg_try_advisory_lock($1)", kLockNumber).front().boolean(0)) {
      if (std::chrono::steady_clock::now() > until) throw OpenRefused("another server has been migrating for too long");
      std::this_thread::sleep_for(kAskAgain);
    }
    // A step may take long on a large table.
    connection_.query("SELECT set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false)");
  }
  ~MigrationLock() {
    if (connection_.lost()) return;  // the server releases the lock
    connection_.rollback();
    try {
      connection_.query("SELECT pg_advisory_unlock($1)", kLockNumber);
    } catch (const std::exception&) {
      // The lock ends with the session, and that with the connection.
    }
  }
  MigrationLock(const MigrationLock&) = delete;
  MigrationLock& operator=(const MigrationLock&) = delete;

 private:
  Connection& connection_;
};

Migrations::Migrations(Connection& connection, std::span<const Migration> known, std::chrono::milliseconds patience)
    : connection_(connection), known_(known), patience_(patience) {}

bool Migrations::has_table() {
  return connection_.query("SELECT to_regclass('schema_migrations') IS NOT NULL").front().boolean(0);
}

void Migrations::create_table() {
  connection_.execute(
      "BEGIN;"
      "CREATE TABLE schema_migrations (version bigint PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL "
      "DEFAULT now(), oldest_binary bigint NOT NULL, digest bytea NOT NULL);"
      "COMMENT ON TABLE schema_migrations IS 'Restante: which steps of the schema were applied, and the oldest binary "
      "(by the newest step it knows) that may run on each.';"
      "COMMIT");
}

void Migrations::require_ours() {
  // One statement, and so one moment: another server may be making the first tables right now.
  const auto tables = connection_.query(
      "SELECT count(*), count(*) FILTER (WHERE relname = 'schema_migrations') FROM pg_class WHERE relnamespace = "
      "current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm')");
  if (tables.front().integer(0) == 0) return;
  if (tables.front().integer(1) == 0) throw OpenRefused("the database is not Restante's; it was left as it is");
  const int newest = known_.empty() ? 0 : known_.back().version;
  for (const Row row :
       connection_.query("SELECT version, name, oldest_binary, digest FROM schema_migrations ORDER BY version")) {
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
  for (const Row row : connection_.query("SELECT version, name, applied_at FROM schema_migrations ORDER BY version")) {
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

int Migrations::up() {
  // Most starts find nothing to do, and must not wait for the lock to see that.
  require_ours();
  if (!missing()) return 0;
  const MigrationLock lock(connection_, patience_);
  require_ours();
  if (!has_table()) create_table();
  int applied = 0;
  for (const auto& state : status()) {
    if (state.applied_at) continue;
    const auto& migration = known_[static_cast<std::size_t>(state.version - 1)];
    connection_.query("BEGIN");
    connection_.execute(std::string(migration.up));
    connection_.send("INSERT INTO schema_migrations (version, name, oldest_binary, digest) VALUES ($1, $2, $3, $4)",
                     migration.version, migration.name, migration.oldest_binary, sha256(migration.up));
    connection_.query("COMMIT");
    ++applied;
  }
  return applied;
}

bool Migrations::down() {
  const MigrationLock lock(connection_, patience_);
  require_ours();
  if (!has_table()) return false;
  const auto row = connection_.query("SELECT coalesce(max(version), 0) FROM schema_migrations");
  const std::int64_t newest = row.front().integer(0);
  if (newest == 0) return false;
  if (newest > std::ssize(known_)) {
    throw OpenRefused(fmt::format("migration {} came from a newer binary; only that one can undo it", newest));
  }
  connection_.query("BEGIN");
  connection_.execute(std::string(known_[static_cast<std::size_t>(newest - 1)].down));
  connection_.send("DELETE FROM schema_migrations WHERE version = $1", newest);
  connection_.query("COMMIT");
  return true;
}

}  // namespace restante::postgres
