#include "server/places/stores.h"

#include <filesystem>

#include "store/postgres/store.h"
#include "store/sqlite/store.h"

namespace restante {
namespace {

std::unique_ptr<Store> open_embedded(const Config& config, const Clock& clock, Metrics& metrics) {
  sqlite::Options options;
  options.now = clock.now();
  options.migrate = config.migrate;
  options.metrics = &metrics;
  // An operator's token without a database: the database was lost, it is not a first start.
  options.may_create = !std::filesystem::exists(std::filesystem::path(config.data) / "admin.token");
  return sqlite::open(database_file(config), options);
}

std::unique_ptr<Store> open_shared(const Config& config, DisciplinedClock& clock, Metrics& metrics,
                                   Announcements& announcements, const ShutdownDeadline& shutdown_deadline) {
  postgres::Options options;
  options.migrate = config.migrate;
  options.lanes = config.postgres.lanes;
  options.readers = config.postgres.readers;
  options.connect_timeout = config.postgres.connect_timeout;
  options.statement_timeout = config.postgres.statement_timeout;
  options.metrics = &metrics;
  options.announcements = &announcements;
  options.clock = &clock;
  options.shutdown_deadline = &shutdown_deadline;
  return postgres::open(config.database, options);
}

}  // namespace

std::unique_ptr<Store> open_store(const Config& config, DisciplinedClock& clock, Metrics& metrics,
                                  Announcements& announcements, const ShutdownDeadline& shutdown_deadline) {
  return is_shared(config) ? open_shared(config, clock, metrics, announcements, shutdown_deadline)
                           : open_embedded(config, clock, metrics);
}

}  // namespace restante
