// The shared store: Store on a PostgreSQL database that any number of servers work on together. open() connects,
// migrates and starts the writing lanes; the Store ends its sessions when it is destroyed. Throws OpenRefused with a
// sentence for the operator when the database cannot be reached, is foreign or too new.
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
#include "store/store.h"

namespace restante::postgres {

struct Options {
  // Off: the schema stays as it is. The store opens; check() and the verbs that miss a table throw Unavailable, except
  // those of uploads, which answer as Store says where uploads_ready() is false.
  bool migrate = true;
  std::size_t lanes = 2;        // sessions that write; a workspace has its lane
  std::size_t chunk_lanes = 2;  // sessions that write bytes, once there are any
  std::size_t readers = 8;      // sessions that read
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds statement_timeout{10'000};
  // These live longer than the store.
  Metrics* metrics = nullptr;                           // where reads and commits are counted
  Announcements* announcements = nullptr;               // where what other servers do is heard
  DisciplinedClock* clock = nullptr;                    // is told the database's time
  const ShutdownDeadline* shutdown_deadline = nullptr;  // nobody waits for the database beyond it
};

// postgres://… or postgresql://….
std::unique_ptr<Store> open(const std::string& url, const Options& options);

// For `restante migrate`. up() tells how many were applied, down() takes back one.
int migrate_up(const std::string& url);
bool migrate_down(const std::string& url);
std::vector<MigrationStatus> migration_status(const std::string& url);

}  // namespace restante::postgres
