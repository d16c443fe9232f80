#include "store/postgres/schema/migrations.h"

#include <thread>

namespace restante::postgres {
namespace {

// "RESTANTE" in eight bytes: other users of advisory locks in this database use other numbers.
constexpr std::int64_t kLockNumber = 0x5245'5354'414E'5445;
constexpr auto kAskAgain = std::chrono::milliseconds(50);

// Holds the advisory lock. It polls for the lock instead of waiting for it: a statement that waits is ended by its
// timeout, and blocks every index that is built concurrently.
class MigrationLock {
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

}  // namespace

bool Migrations::has_table() {
  return session_.query("SELECT to_regclass('schema_migrations') IS NOT NULL").front().boolean(0);
}

void Migrations::create_table() {
  session_.execute(
      "BEGIN;"
      "CREATE TABLE schema_migrations (version bigint PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL "
      "DEFAULT now(), oldest_binary bigint NOT NULL, digest bytea NOT NULL);"
      "COMMENT ON TABLE schema_migrations IS 'Restante: which steps of the schema were applied, and the oldest binary "
      "(by the newest step it knows) that may run on each.';"
      "COMMIT");
}

bool Migrations::require_our_tables() {
  // One statement, and so one moment: another server may be making the first tables right now.
  const auto tables = session_.query(
      "SELECT count(*), count(*) FILTER (WHERE relname = 'schema_migrations') FROM pg_class WHERE relnamespace = "
      "current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm')");
  if (tables.front().integer(0) == 0) return false;
  if (tables.front().integer(1) == 0) throw OpenRefused("the database is not Restante's; it was left as it is");
  return true;
}

int Migrations::up() {
  // Most starts find nothing to do, and must not wait for the lock to see that.
  require_ours();
  if (!missing()) return 0;
  const MigrationLock lock(session_, patience_);
  return apply_missing([&](const Migration& migration) {
    session_.query("BEGIN");
    session_.execute(std::string(migration.up));
    session_.send("INSERT INTO schema_migrations (version, name, oldest_binary, digest) VALUES ($1, $2, $3, $4)",
                  migration.version, migration.name, migration.oldest_binary, sha256(migration.up));
    session_.query("COMMIT");
  });
}

bool Migrations::down() {
  const MigrationLock lock(session_, patience_);
  return revert_newest();
}

void Migrations::revert(const Migration& migration) {
  session_.query("BEGIN");
  session_.execute(std::string(migration.down));
  session_.send("DELETE FROM schema_migrations WHERE version = $1", migration.version);
  session_.query("COMMIT");
}

}  // namespace restante::postgres
