// The embedded store: one SQLite file in a data directory, for one process at a time. open() takes the directory's
// lock, checks the file, migrates it and starts the writer; the Store gives all of it back when it is destroyed. Throws
// OpenRefused with a sentence for the operator when the data is in use, damaged, foreign, missing or too new.
#pragma once
#include <filesystem>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"
#include "store/sqlite/migration_status.h"
#include "store/sqlite/refused.h"
#include "store/store.h"

namespace restante::sqlite {

struct Options {
  Time now;  // what applied migrations are dated with
  // Off: the schema stays as it is. The store opens; check() and the verbs that miss a table throw Unavailable, except
  // those of uploads, which answer as Store says where uploads_ready() is false.
  bool migrate = true;
  // Off: a missing file is refused. Set it where the data directory is known to have been used, so that a lost database
  // is never taken for a new one.
  bool may_create = true;
  std::size_t readers = 4;
  Metrics* metrics = nullptr;  // where reads and commits are counted; lives longer than the store
};

std::unique_ptr<Store> open(const std::filesystem::path& file, const Options& options);

// For `restante migrate`, while no server runs on the data. up() tells how many were applied, down() takes back one.
int migrate_up(const std::filesystem::path& file, Time now);
bool migrate_down(const std::filesystem::path& file);
// Reads only, so it works beside a running server.
std::vector<MigrationStatus> migration_status(const std::filesystem::path& file);

}  // namespace restante::sqlite
