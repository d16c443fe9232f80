#include <algorithm>
#include <filesystem>
#include <functional>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "cli/format.h"
#include "cli/options.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "store/postgres/store.h"
#include "store/sqlite/store.h"

namespace restante::cli {
namespace {

namespace fs = std::filesystem;

std::string label(const MigrationStatus& one) { return fmt::format("{:04} {}", one.version, one.name); }

// The schema of the configured database: a SQLite file or PostgreSQL.
class Schema {
 public:
  explicit Schema(const Config& config) : config_(config), file_(database_file(config)) {}

  int up() {
    if (is_shared(config_)) return postgres::migrate_up(config_.database);
    require_not_lost();
    if (file_.has_parent_path()) fs::create_directories(file_.parent_path());
    return sqlite::migrate_up(file_, SystemClock().now());
  }
  void down() { is_shared(config_) ? postgres::migrate_down(config_.database) : sqlite::migrate_down(file_); }
  std::vector<MigrationStatus> status() {
    return is_shared(config_) ? postgres::migration_status(config_.database) : sqlite::migration_status(file_);
  }

 private:
  // The server refuses the same: an operator's token without a database means that the database was lost, not that it
  // is new.
  void require_not_lost() {
    const bool lost = !fs::exists(file_) || fs::file_size(file_) == 0;
    if (!lost || !fs::exists(fs::path(config_.data) / "admin.token")) return;
    throw CommandFailed(
        kExitUnavailable,
        fmt::format("{} is missing or empty although {} has been used: restore it, or start with an empty directory",
                    file_.string(), config_.data));
  }

  const Config& config_;
  const fs::path file_;
};

// Runs `work(schema)` on the configured database.
int with_schema(const MigrateOptions& options, const std::function<int(Schema&)>& work) {
  const Config config = effective_config(options.sources);
  Schema schema(config);
  try {
    return work(schema);
  } catch (const OpenRefused& refused) {
    throw CommandFailed(kExitUnavailable, refused.what());
  }
}

int undo_newest(Schema& schema) {
  const auto all = schema.status();
  const auto newest =
      std::find_if(all.rbegin(), all.rend(), [](const auto& one) { return one.applied_at.has_value(); });
  if (newest == all.rend()) return print("Nothing to undo: no migration is applied.\n");
  if (!confirmed(fmt::format("Undo {}? Data that only its tables have is lost.", label(*newest))))
    return print("Nothing was changed.\n");
  schema.down();
  return print(fmt::format("Undid {}.\n", label(*newest)));
}

}  // namespace

int migrate_up(const MigrateOptions& options) {
  return with_schema(options, [](Schema& schema) {
    const int applied = schema.up();
    return print(applied == 0 ? std::string("Nothing to do: the schema is up to date.\n")
                              : fmt::format("Applied {} migration{}.\n", applied, applied == 1 ? "" : "s"));
  });
}

int migrate_down(const MigrateOptions& options) { return with_schema(options, undo_newest); }

int migrate_status(const MigrateOptions& options) {
  return with_schema(options, [&](Schema& schema) {
    const auto all = schema.status();
    return print(options.json ? migrations_json(all) + '\n' : format_migrations(all, SystemClock().now(), colours()));
  });
}

std::string format_migrations(const std::vector<MigrationStatus>& all, Time now, Colours colours) {
  std::vector<TableRow> rows;
  for (const auto& one : all) {
    Cell state{"waiting: restante migrate up", Paint::warn};
    if (one.applied_at) state = {"applied " + format_ago(*one.applied_at, now), Paint::good};
    if (!one.known) state = {"applied by a newer restante", Paint::bad};
    rows.push_back({{fmt::format("{:04}", one.version)}, {one.name}, state});
  }
  return format_table({"NUMBER", "NAME", "STATE"}, rows, colours);
}

std::string migrations_json(const std::vector<MigrationStatus>& all) {
  JsonWriter out;
  out.array(all, [&](const MigrationStatus& one) {
    out.object([&] {
      out.member("version", std::int64_t{one.version});
      out.member("name", one.name);
      out.member_or_null("applied_at", one.applied_at);
      out.member("known", one.known);
    });
  });
  return out.take();
}

}  // namespace restante::cli
