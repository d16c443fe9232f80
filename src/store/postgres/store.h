// Opens Store on a PostgreSQL database that any number of servers share. open() connects, migrates and starts the write
// lanes; the Store ends its sessions when it is destroyed. Throws OpenRefused with a sentence for the operator when the
// database cannot be reached, is foreign, too new or, without migrating, too old.
#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/disciplined_clock.h"
#include "base/metrics.h"
#include "base/shutdown_deadline.h"
#include "store/announcements.h"
#include "store/migration.h"
#include "store/move_database.h"
#include "store/store.h"

namespace restante::postgres {

struct Options {
  // Off: the schema is not changed. If it ends before the tables of uploads, the store opens, check() throws
  // Unavailable, and the verbs answer as UploadStore::uploads_ready() describes.
  bool migrate = true;
  std::size_t lanes = 2;        // sessions that write; a workspace has one lane
  std::size_t chunk_lanes = 2;  // sessions that write chunks; opened at the first chunk
  std::size_t readers = 8;      // sessions that read
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds statement_timeout{10'000};
  // These live longer than the store.
  Metrics* metrics = nullptr;                           // counts reads and commits
  Announcements* announcements = nullptr;               // receives what other servers announce
  DisciplinedClock* clock = nullptr;                    // is set to the database's time
  const ShutdownDeadline* shutdown_deadline = nullptr;  // no wait for the database is longer
};

// postgres://… or postgresql://….
std::unique_ptr<Store> open(const std::string& url, const Options& options);

// For `restante migrate`. up() returns how many were applied, down() undoes one.
int migrate_up(const std::string& url);
bool migrate_down(const std::string& url);
std::vector<MigrationStatus> migration_status(const std::string& url);

// The database as a MoveDatabase. A source is read in one snapshot. Neither a source nor a target is opened while a
// server of ours has sessions in it. Both are locked by an advisory lock, which needs a session that no other client
// shares. Throws OpenRefused also when the database is in use, of another schema than this binary's, or a read-only
// source.
std::unique_ptr<MoveDatabase> open_move_database(const std::string& url, MoveUse use);  // schema/move_database.cpp

}  // namespace restante::postgres
