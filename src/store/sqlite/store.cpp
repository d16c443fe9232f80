#include "store/sqlite/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "store/sqlite/embedded_store.h"
#include "store/sqlite/migrations.h"
#include "store/sqlite/upload_rows.h"

namespace restante::sqlite {
namespace {

namespace fs = std::filesystem;

fs::path directory_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

// The entry of a new file must be as durable as what is soon written to it.
void sync_directory(const fs::path& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const int why = errno;
  if (fd >= 0) ::close(fd);
  if (!synced) throw OpenRefused(fmt::format("{} cannot be synced: {}", directory.string(), std::strerror(why)));
}

void make_file(const fs::path& file) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) throw OpenRefused(fmt::format("{} cannot be created: {}", file.string(), std::strerror(errno)));
  ::close(fd);
  sync_directory(directory_of(file));
}

void require_file(const fs::path& file, bool may_create) {
  // An empty one holds as little as none: a copy that failed, or a first start that was cut short.
  const bool there = fs::exists(file);
  if (there && fs::file_size(file) > 0) return;
  // SQLite would throw a log without its database away, and with it what was acknowledged.
  if (fs::exists(file.string() + "-wal")) {
    throw OpenRefused(fmt::format("the database {} is missing although its log is there; restore it", file.string()));
  }
  if (!may_create) {
    throw OpenRefused(fmt::format("the database {} is {}; restore it, or start with an empty data directory",
                                  file.string(), there ? "empty" : "missing"));
  }
  if (!there) make_file(file);
}

void require_sound(Database& database) {
  Statement row = database.query("PRAGMA quick_check(1)");
  const std::string verdict = row.step() ? row.text(0) : "no answer";
  if (verdict != "ok") throw OpenRefused("the database is damaged (" + verdict + "); restore a backup");
}

void use_log(Database& database) {
  Statement row = database.query("PRAGMA journal_mode = WAL");
  const std::string mode = row.step() ? row.text(0) : "none";
  if (mode != "wal") throw OpenRefused("the database cannot be put in WAL mode; does its file system support mmap?");
}

// Every reason not to work on this file, as a sentence that names it.
template <class Body>
auto refusing(const fs::path& file, Body body) {
  try {
    return body();
  } catch (const OpenRefused& refused) {
    throw OpenRefused(fmt::format("{}: {}", file.string(), refused.what()));
  } catch (const Unavailable& failed) {
    throw OpenRefused(
        fmt::format("{} cannot be opened; it may be damaged or no database at all: {}", file.string(), failed.what()));
  }
}

// Checked in this order: a foreign file is recognised before anything in it is changed.
std::unique_ptr<Database> open_checked(const fs::path& file, const Options& options, Health& health) {
  require_file(file, options.may_create);
  return refusing(file, [&] {
    auto database = std::make_unique<Database>(file.string(), Database::Mode::read_write, health);
    Migrations migrations(*database);
    migrations.require_ours();
    require_sound(*database);
    if (database->is_read_only()) throw OpenRefused("the file is read-only");
    use_log(*database);
    if (options.migrate) migrations.up(options.now);
    return database;
  });
}

std::unique_ptr<Database> watched(std::unique_ptr<Database> database, bool* tokens_changed) {
  database->watch_table("tokens", tokens_changed);
  return database;
}

}  // namespace

EmbeddedStore::EmbeddedStore(const fs::path& file, const Options& options)
    : lock_(directory_of(file)),
      opened_(open_checked(file, options, health_)),
      uploads_ready_(has_upload_tables(*opened_)),
      readers_(file.string(), options.readers, health_, options.metrics),
      writer_(watched(std::move(opened_), &tokens_changed_),
              std::make_unique<Database>(file.string(), Database::Mode::read_write, health_), health_, Writer::Limits{},
              options.metrics, [this] {
                if (std::exchange(tokens_changed_, false)) token_cache_.clear();
              }) {}

void EmbeddedStore::check() {
  health_.require();
  auto reader = readers_.take();
  if (reader->has_moved()) throw Unavailable("the database file was moved, replaced or deleted");
  if (const auto missing = Migrations(*reader).missing()) {
    throw Unavailable(fmt::format("migration {} ({}) has not been applied", missing->version, missing->name));
  }
}

std::unique_ptr<Store> open(const fs::path& file, const Options& options) {
  return std::make_unique<EmbeddedStore>(file, options);
}

int migrate_up(const fs::path& file, Time now) {
  const DataLock lock(directory_of(file));
  Health health;
  Options options;
  options.migrate = false;
  const auto database = open_checked(file, options, health);
  return refusing(file, [&] { return Migrations(*database).up(now); });
}

bool migrate_down(const fs::path& file) {
  const DataLock lock(directory_of(file));
  Health health;
  Options options;
  options.migrate = false;
  options.may_create = false;
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
