#include "store/postgres/store.h"

#include "store/postgres/schema/migrations.h"
#include "store/postgres/schema/opening.h"
#include "store/postgres/shared_store.h"

namespace restante::postgres {
namespace {

constexpr auto kPoolPatience = std::chrono::seconds(5);

ConnectionOptions endpoint_of(const std::string& url, const Options& options) {
  ConnectionOptions endpoint;
  endpoint.url = url;
  endpoint.connect_timeout = options.connect_timeout;
  endpoint.statement_timeout = options.statement_timeout;
  // The server's own timeout comes first, and its error contains the reason.
  endpoint.answer_timeout = options.statement_timeout + std::chrono::seconds(2);
  endpoint.shutdown_deadline = options.shutdown_deadline;
  return endpoint;
}

WriteLane::Limits limits_of(const Options& options) {
  WriteLane::Limits limits;
  // If the server comes back within this time, the outcome is found out; a client that has waited longer has given up.
  limits.settling = options.statement_timeout * 3;
  return limits;
}

bool has_upload_tables(Connection& connection) {
  const auto found = connection.query(
      "SELECT count(to_regclass(name)) FROM unnest(ARRAY['pending_uploads', 'upload_contents', 'finished_uploads', "
      "'dropped_blobs']) AS wanted (name)");
  return found.front().integer(0) == 4;
}

// Checks and migrates the database. Returns whether the tables of uploads exist.
bool prepare(const ConnectionOptions& endpoint, const Options& options) {
  return refusing([&] {
    Connection connection(endpoint);
    require_sound(connection);
    require_settled(connection);
    Migrations migrations(connection);
    if (options.migrate) {
      migrations.up();
    } else {
      migrations.require_ours();
    }
    const bool found = has_upload_tables(connection);
    require_usable_schema(found, migrations.missing());
    return found;
  });
}

}  // namespace

SharedStore::SharedStore(const ConnectionOptions& endpoint, const Options& options)
    : instance_(Uuid::make(SystemClock().now())),
      uploads_ready_(prepare(endpoint, options)),
      pool_(endpoint, options.readers, kPoolPatience, options.metrics),
      notification_reader_(prefer_writers(endpoint), instance_, read_cache_, options.announcements, options.clock),
      maintenance_lane_(prefer_writers(endpoint), instance_, limits_of(options), read_cache_, options.metrics),
      chunks_(pool_) {
  for (std::size_t i = 0; i < options.lanes; ++i) {
    lanes_.push_back(std::make_unique<WriteLane>(prefer_writers(endpoint), instance_, limits_of(options), read_cache_,
                                                 options.metrics));
  }
  for (std::size_t i = 0; i < options.chunk_lanes; ++i) {
    chunks_.add(std::make_unique<WriteLane>(prefer_writers(endpoint), instance_, limits_of(options), read_cache_,
                                            options.metrics));
  }
}

ConnectionOptions SharedStore::prefer_writers(ConnectionOptions endpoint) {
  endpoint.on_no_session = [this] { pool_.make_room(); };
  return endpoint;
}

void SharedStore::check() {
  pool_.use([](Connection& connection) {
    if (const auto missing = Migrations(connection).missing()) throw Unavailable(not_applied(*missing));
    if (connection.query("SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on'")
            .front()
            .boolean(0)) {
      throw Unavailable("the database can only be read");
    }
  });
}

StoreFacts SharedStore::describe() {
  return pool_.use([](Connection& connection) {
    const MigrationStatus newest = newest_applied(Migrations(connection).status());
    return StoreFacts{"PostgreSQL", connection.query("SELECT current_setting('server_version')").front().text(0),
                      newest.version, newest.name};
  });
}

std::unique_ptr<Store> open(const std::string& url, const Options& options) {
  return refusing([&] { return std::make_unique<SharedStore>(endpoint_of(url, options), options); });
}

int migrate_up(const std::string& url) {
  return refusing([&] {
    Connection connection(endpoint_of(url, {}));
    require_sound(connection);
    require_settled(connection);
    return Migrations(connection).up();
  });
}

bool migrate_down(const std::string& url) {
  return refusing([&] {
    Connection connection(endpoint_of(url, {}));
    require_settled(connection);
    return Migrations(connection).down();
  });
}

std::vector<MigrationStatus> migration_status(const std::string& url) {
  return refusing([&] {
    Connection connection(endpoint_of(url, {}));
    return Migrations(connection).status();
  });
}

}  // namespace restante::postgres
