// `restante migrate up|down|status`: the schema of the database. Works on the database directly. On SQLite up and down
// refuse while a server has it open; on PostgreSQL they use the same lock as servers that migrate. status only reads.
#pragma once
#include <string>
#include <vector>

#include "cli/terminal/table.h"
#include "server/config/config.h"
#include "store/migration.h"

namespace restante::cli {

struct MigrateOptions {
  enum class Action { up, down, status } action = Action::status;
  ConfigSources sources;  // the data directory is found as by serve
  bool json = false;      // of status
};

// Returns the exit code.
int migrate(const MigrateOptions& options);

std::string format_migrations(const std::vector<MigrationStatus>& all, Time now, Colours colours);
std::string migrations_json(const std::vector<MigrationStatus>& all);

}  // namespace restante::cli
