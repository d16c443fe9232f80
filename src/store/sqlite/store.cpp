#include "store/sqlite/store.h"

#include <fmt/format.h>

#include "store/sql/trial_write.h"
#include "store/sqlite/embedded_store.h"
#include "store/sqlite/schema/migrations.h"
#include "store/sqlite/schema/opening.h"

namespace restante::sqlite {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Database> watched(std::unique_ptr<Database> database, bool* tokens_changed) {
  database->watch_table("tokens", tokens_changed);
  return database;
}

bool has_upload_tables(Database& database) {
  const auto count = [](const SqlRow& row) { return row.integer(0); };
  return database.find(count,
                       "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN "
                       "('pending_uploads', 'upload_contents', 'finished_uploads', 'dropped_blobs')") == 4;
}

bool find_uploads(const fs::path& file, Database& database) {
  return refusing(file, [&] {
    const bool found = has_upload_tables(database);
    require_usable_schema(found, Migrations(database).missing());
    return found;
  });
}

}  // namespace

EmbeddedStore::EmbeddedStore(const fs::path& file, const Options& options)
    : lock_(directory_of(file)),
      opened_(open_checked(file, options, health_)),
      uploads_ready_(find_uploads(file, *opened_)),
      readers_(file.string(), options.readers, health_, options.metrics),
      writer_(watched(std::move(opened_), &tokens_changed_),
              std::make_unique<Database>(file.string(), Database::Mode::read_write, health_), health_, Writer::Limits{},
              options.metrics, [this] {
                if (std::exchange(tokens_changed_, false)) token_cache_.clear();
              }) {
  if (fs::file_size(file) <= options.checked_at_open) return;
  soundness_check_.emplace(std::make_unique<Database>(file.string(), Database::Mode::read_only, health_), health_);
}

void EmbeddedStore::check() {
  health_.require();
  auto reader = readers_.take();
  if (reader->has_moved()) throw Unavailable("the database file was moved, replaced or deleted");
  if (const auto missing = Migrations(*reader).missing()) throw Unavailable(not_applied(*missing));
  require_written(begin_trial_write(writer_.queue(), 1));
}

StoreFacts EmbeddedStore::describe() {
  auto reader = readers_.take();
  const MigrationStatus newest = newest_applied(Migrations(*reader).status());
  return {"SQLite", sqlite3_libversion(), newest.version, newest.name};
}

std::unique_ptr<Store> open(const fs::path& file, const Options& options) {
  return std::make_unique<EmbeddedStore>(file, options);
}

int migrate_up(const fs::path& file, Time now) {
  const DataLock lock(directory_of(file));
  Health health;
  Options options;
  options.migrate = false;
  options.checked_at_open = UINTMAX_MAX;
  const auto database = open_checked(file, options, health);
  return refusing(file, [&] { return Migrations(*database).up(now); });
}

bool migrate_down(const fs::path& file) {
  const DataLock lock(directory_of(file));
  Health health;
  Options options;
  options.migrate = false;
  options.may_create = false;
  options.checked_at_open = UINTMAX_MAX;
  const auto database = open_checked(file, options, health);
  return refusing(file, [&] { return Migrations(*database).down(); });
}

std::vector<MigrationStatus> migration_status(const fs::path& file) {
  if (!fs::exists(file)) throw OpenRefused(fmt::format("there is no database {}", file.string()));
  return refusing(file, [&] {
    Health health;
    Database database(file.string(), Database::Mode::read_only, health);
    return Migrations(database).status();
  });
}

}  // namespace restante::sqlite
