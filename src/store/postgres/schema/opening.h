// Checks before a database is opened, and the transaction of one who has opened it alone. Throws OpenRefused with a
// sentence for the operator; the url may contain a password and is never repeated.
#pragma once
#include <fmt/format.h>

#include "base/error.h"
#include "store/migration.h"
#include "store/postgres/connections/connection.h"

namespace restante::postgres {

void require_sound(Connection& connection);
// True while a move into this database has not finished: only that move may use it.
bool has_marker(Connection& connection);
void require_settled(Connection& connection);

// Two connections that are open at the same time must be two sessions. A pgbouncer whose pool_mode is not session hands
// out another session for every transaction; a lock or a setting of ours would then stay in a session of another
// client. Throws OpenRefused.
void require_own_sessions(Connection& one, Connection& other);

// Servers hold this lock in share mode as long as their sessions last; a move holds it alone. "MOVE HSE" in eight
// bytes.
inline constexpr std::int64_t kMoveLock = 0x4D4F'5645'2048'5345;
// Sessions of a killed process, a stopped server or a finished move last a moment longer than the process.
inline constexpr std::chrono::milliseconds kSessionPatience = std::chrono::seconds(15);
// For a session of a server: no move begins while the session lasts. Throws Unavailable when a move is still running
// after `patience`.
void lock_out_moves(Connection& connection, std::chrono::milliseconds patience = {});

// Runs `body` in a transaction, which is rolled back when it throws.
template <class Body>
void in_transaction(Connection& connection, Body body) {
  try {
    connection.send("BEGIN");
    body();
    connection.query("COMMIT");
  } catch (...) {
    connection.rollback();
    throw;
  }
}

// Turns Unavailable into OpenRefused with a sentence for the operator; Unavailable is nested in it.
template <class Body>
auto refusing(Body body) {
  try {
    return body();
  } catch (const Unavailable& failed) {
    std::throw_with_nested(OpenRefused(fmt::format("the database cannot be opened: {}", failed.what())));
  }
}

}  // namespace restante::postgres
