// Opening a database: what has to be true of it before anything is done to it, and how a refusal is said. Throws
// OpenRefused with a sentence for the operator; the url may hold a password and is never repeated.
#pragma once
#include <fmt/format.h>

#include "base/error.h"
#include "store/migration.h"
#include "store/postgres/connection.h"

namespace restante::postgres {

void require_sound(Connection& connection);
// A database that a move has begun to fill is for that move alone.
bool has_marker(Connection& connection);
void require_settled(Connection& connection);

// Two that are open at the same time are two sessions, unless whatever is in between hands them out anew for every
// transaction, as a pgbouncer does whose pool_mode is not session: what is left in one (a lock, a setting) is then left
// to others. Throws OpenRefused.
void require_own_sessions(Connection& one, Connection& other);

// Servers share it for as long as their sessions last; a move has it alone. "MOVE HSE" in eight bytes.
inline constexpr std::int64_t kMoveLock = 0x4D4F'5645'2048'5345;
// For a session of a server: no move begins while it lasts. Throws Unavailable while one is under way.
void lock_out_moves(Connection& connection);

// Every reason not to work on this database, as a sentence.
template <class Body>
auto refusing(Body body) {
  try {
    return body();
  } catch (const Unavailable& failed) {
    throw OpenRefused(fmt::format("the database cannot be opened: {}", failed.what()));
  }
}

}  // namespace restante::postgres
