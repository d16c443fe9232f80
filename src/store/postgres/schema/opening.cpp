#include "store/postgres/schema/opening.h"

#include <thread>

#include "store/move_database.h"

namespace restante::postgres {
namespace {

constexpr auto kAskAgain = std::chrono::milliseconds(50);

}  // namespace

void require_sound(Connection& connection) {
  const auto encoding = connection.query("SELECT current_setting('server_encoding')");
  if (encoding.front().view(0) != "UTF8") {
    throw OpenRefused("the database's encoding must be UTF8; create it with ENCODING 'UTF8' TEMPLATE template0");
  }
}

bool has_marker(Connection& connection) {
  return connection.query("SELECT to_regclass($1::text) IS NOT NULL", kMoveMarker).front().boolean(0);
}

void require_settled(Connection& connection) {
  if (has_marker(connection)) throw OpenRefused(kHalfMoved);
}

void require_own_sessions(Connection& one, Connection& other) {
  const auto process_of = [](Connection& connection) {
    return connection.query("SELECT pg_backend_pid()::bigint").front().integer(0);
  };
  // More than once: a connection may get another session between two statements.
  for (int attempt = 0; attempt < 5; ++attempt) {
    if (process_of(one) != process_of(other)) continue;
    throw OpenRefused(
        "sessions are shared with others on the way to the database: name PostgreSQL itself, or a pgbouncer with "
        "pool_mode = session");
  }
}

void lock_out_moves(Connection& connection, std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!connection.query("SELECT pg_try_advisory_lock_shared($1)", kMoveLock).front().boolean(0)) {
    if (std::chrono::steady_clock::now() >= until) {
      throw Unavailable("a restante move has this database for itself; start the server again when it is done");
    }
    std::this_thread::sleep_for(kAskAgain);
  }
}

}  // namespace restante::postgres
