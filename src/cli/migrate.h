// `restante migrate up|down|status`: the schema of the database. Works on the database itself. On SQLite up and down
// refuse while a server has it open; on PostgreSQL they take turns with servers that migrate. status only looks.
#pragma once
#include <string>
#include <vector>

#include "cli/table.h"
#include "server/config.h"
#include "store/migration.h"

namespace restante::cli {

struct MigrateOptions {
  enum class Action { up, down, status } action = Action::status;
  ConfigSources sources;  // the data directory is found as serve would find it
  bool json = false;      // of status
};

// Returns the exit code.
int migrate(const MigrateOptions& options);

std::string format_migrations(const std::vector<MigrationStatus>& all, Time now, Colours colours);
std::string migrations_json(const std::vector<MigrationStatus>& all);

}  // namespace restante::cli
