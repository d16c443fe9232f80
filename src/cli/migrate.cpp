#include "cli/migrate.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "cli/exit_codes.h"
#include "cli/failed.h"
#include "cli/terminal.h"
#include "store/sqlite/store.h"

namespace restante::cli {
namespace {

namespace fs = std::filesystem;

std::string label(const sqlite::MigrationStatus& one) { return fmt::format("{:04} {}", one.version, one.name); }

int up(const fs::path& file, const Config& config) {
  // The server would refuse the same: an operator's token beside no database means a lost one, not a new one.
  const bool lost = !fs::exists(file) || fs::file_size(file) == 0;
  if (lost && fs::exists(fs::path(config.data) / "admin.token")) {
    throw CommandFailed(
        kExitUnavailable,
        fmt::format("{} is missing or empty although {} has been used: restore it, or start with an empty "
                    "directory",
                    file.string(), config.data));
  }
  if (file.has_parent_path()) fs::create_directories(file.parent_path());
  const int applied = sqlite::migrate_up(file, SystemClock().now());
  return print(applied == 0 ? std::string("Nothing to do: the schema is up to date.\n")
                            : fmt::format("Applied {} migration{}.\n", applied, applied == 1 ? "" : "s"));
}

int down(const fs::path& file) {
  const auto all = sqlite::migration_status(file);
  const auto newest =
      std::find_if(all.rbegin(), all.rend(), [](const auto& one) { return one.applied_at.has_value(); });
  if (newest == all.rend()) return print("Nothing to take back: no migration is applied.\n");
  if (!confirmed(fmt::format("Take back {}? What only its tables hold is lost.", label(*newest))))
    return print("Nothing was changed.\n");
  sqlite::migrate_down(file);
  return print(fmt::format("Took back {}.\n", label(*newest)));
}

int status(const fs::path& file, const MigrateOptions& options) {
  const auto all = sqlite::migration_status(file);
  if (options.json) return print(migrations_json(all) + '\n');
  return print(format_migrations(all, SystemClock().now(), colourful(STDOUT_FILENO) ? Colours::on : Colours::off));
}

}  // namespace

int migrate(const MigrateOptions& options) {
  const Config config = load_config(options.sources);
  const fs::path file = database_file(config);
  try {
    switch (options.action) {
      case MigrateOptions::Action::up:
        return up(file, config);
      case MigrateOptions::Action::down:
        return down(file);
      case MigrateOptions::Action::status:
        return status(file, options);
    }
  } catch (const sqlite::OpenRefused& refused) {
    throw CommandFailed(kExitUnavailable, refused.what());
  }
  return kExitFailed;
}

std::string format_migrations(const std::vector<sqlite::MigrationStatus>& all, Time now, Colours colours) {
  std::vector<TableRow> rows;
  for (const auto& one : all) {
    Cell state{"waiting: restante migrate up", Paint::warn};
    if (one.applied_at) state = {"applied " + format_ago(*one.applied_at, now), Paint::good};
    if (!one.known) state = {"applied by a newer restante", Paint::bad};
    rows.push_back({{fmt::format("{:04}", one.version)}, {one.name}, state});
  }
  return format_table({"NUMBER", "NAME", "STATE"}, rows, colours);
}

std::string migrations_json(const std::vector<sqlite::MigrationStatus>& all) {
  JsonWriter out;
  out.begin_array();
  for (const auto& one : all) {
    out.begin_object();
    out.member("version", std::int64_t{one.version});
    out.member("name", one.name);
    out.key("applied_at");
    one.applied_at ? out.string(format_time(*one.applied_at)) : out.null();
    out.key("known");
    out.boolean(one.known);
    out.end_object();
  }
  out.end_array();
  return out.take();
}

}  // namespace restante::cli
