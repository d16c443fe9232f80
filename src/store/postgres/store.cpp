#include "store/postgres/store.h"

#include "store/postgres/schema/migrations.h"
#include "store/postgres/schema/opening.h"
#include "store/postgres/shared_store.h"
#include "store/sql/trial_write.h"

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
  // A server that was lost may take as long as a session: several hosts are tried one after the other, and one of them
  // may be about to become the primary.
  limits.patience = options.connect_timeout;
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
      // What was read on another server, permissions included, is neither used nor kept.
      primary_([this] {
        read_cache_.distrust();
        read_cache_.forget_everything();
      }),
      pool_(endpoint, options.readers, kPoolPatience, primary_, options.metrics),
      notification_reader_(prefer_writers(endpoint), instance_, read_cache_, primary_, options.announcements,
                           options.clock),
      maintenance_lane_(prefer_writers(endpoint), instance_, limits_of(options), read_cache_, primary_,
                        options.metrics),
      chunks_(pool_) {
  for (std::size_t i = 0; i < options.lanes; ++i) {
    lanes_.push_back(std::make_unique<WriteLane>(prefer_writers(endpoint), instance_, limits_of(options), read_cache_,
                                                 primary_, options.metrics));
  }
  for (std::size_t i = 0; i < options.chunk_lanes; ++i) {
    chunks_.add(std::make_unique<WriteLane>(prefer_writers(endpoint), instance_, limits_of(options), read_cache_,
                                            primary_, options.metrics));
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
  // A lane has a session of its own, which may be on another server of the database than the readers'.
  std::vector<Commit<Result<void>>> written;
  for (const auto& lane : lanes_) written.push_back(begin_trial_write(lane->queue(), static_cast<int>(written.size())));
  written.push_back(begin_trial_write(maintenance_lane_.queue(), static_cast<int>(written.size())));
  for (auto& commit : written) require_written(commit);
}

StoreFacts SharedStore::describe() {
  return pool_.use([](Connection& connection) {
    const MigrationStatus newest = newest_applied(Migrations(connection).status());
    return StoreFacts{"PostgreSQL", connection.query("SELECT current_setting('server_version')").front().text(0),
                      newest.version, newest.name};
  });
}

std::vector<WriterProgress> SharedStore::writers() {
  std::vector<WriterProgress> all{maintenance_lane_.queue().progress()};
  for (const auto& lane : lanes_) all.push_back(lane->queue().progress());
  chunks_.add_progress(all);
  return all;
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
