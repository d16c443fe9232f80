// The embedded store: one SQLite file in a data directory, for one process at a time. open() takes the directory's
// lock, checks the file, migrates it and starts the writer; the Store releases all of it when it is destroyed. Throws
// OpenRefused with a sentence for the operator when the data is in use, damaged, not Restante's, missing, too new or,
// without migrating, too old.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "store/migration.h"
#include "store/move_database.h"
#include "store/store.h"

namespace restante::sqlite {

struct Options {
  Time now;  // the date of migrations that are applied
  // Off: the schema stays as it is. If it ends before the tables of uploads, the store opens, check() throws
  // Unavailable, and the verbs answer as UploadStore::uploads_ready() describes.
  bool migrate = true;
  // Off: a missing file is refused. Turn it off when the data directory was used before, so that a lost database is
  // never replaced by an empty one.
  bool may_create = true;
  // A larger file is checked for damage after open(), so that a server with much data is ready at once; damage that is
  // found then is thrown by check() and by every write.
  std::uintmax_t checked_at_open = 64 << 20;
  std::size_t readers = 4;
  Metrics* metrics = nullptr;  // counts reads and commits; must outlive the store
};

std::unique_ptr<Store> open(const std::filesystem::path& file, const Options& options);

// For `restante migrate`, while no server uses the data. migrate_up() returns how many migrations it applied,
// migrate_down() reverts one; false when there was none.
int migrate_up(const std::filesystem::path& file, Time now);
bool migrate_down(const std::filesystem::path& file);
// Reads only, so it works beside a running server.
std::vector<MigrationStatus> migration_status(const std::filesystem::path& file);

// The file as a MoveDatabase. Holds the data directory's lock until it is destroyed, so that no server uses the file.
// Throws OpenRefused when the file is in use, missing (as a source), damaged, not Restante's, or has another schema
// than this binary. `now` is the date of migrations that are applied.
std::unique_ptr<MoveDatabase> open_move_database(const std::filesystem::path& file, MoveUse use,
                                                 Time now);  // schema/move_database.cpp

}  // namespace restante::sqlite
