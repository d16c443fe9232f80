#include "store/postgres/connections/failures.h"

#include <algorithm>
#include <iterator>

namespace restante::postgres {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view sqlstate, const std::string_view (&all)[N]) {
  return std::find(std::begin(all), std::end(all), sqlstate) != std::end(all);
}

bool means_lost(std::string_view sqlstate) {
  // The server ends sessions with these. One that has become read-only cannot be used either: another host may be the
  // primary.
  static constexpr std::string_view kEnded[] = {"57P01", "57P02", "57P03", "57P05", "25P03", "25006"};
  return sqlstate.starts_with("08") || is_one_of(sqlstate, kEnded);
}

bool means_conflict(std::string_view sqlstate) {
  static constexpr std::string_view kConflicts[] = {"40001", "40P01", "55P03"};
  return is_one_of(sqlstate, kConflicts);
}

constexpr const char* kNeedsSession =
    "; Restante needs sessions that no other client shares: name PostgreSQL itself, or a pgbouncer with pool_mode = "
    "session";

}  // namespace

void raise(std::string_view sqlstate, const std::string& what) {
  static constexpr std::string_view kNotAvailableYet[] = {"42P01", "42703", "42883", "3F000", "42501"};
  static constexpr std::string_view kNoSession[] = {"42P05", "26000"};
  const std::string text = "PostgreSQL: " + what + " (" + std::string(sqlstate) + ")";
  if (sqlstate.empty() || means_lost(sqlstate)) throw Lost(text);
  if (means_conflict(sqlstate)) throw Conflict(text);
  if (sqlstate == "53100") throw StorageFull(text);
  if (sqlstate == "23505") throw KeyTaken(text);
  if (sqlstate.starts_with("23")) throw ConstraintFailed(text);
  // Something that a migration has not created yet, or the operator has not allowed, is missing for now; all other
  // errors of these classes are bugs in our statements.
  if (is_one_of(sqlstate, kNotAvailableYet)) throw Unavailable(text);
  // Another client's prepared statements in our session, or ours in its session.
  if (is_one_of(sqlstate, kNoSession)) throw Unavailable(text + kNeedsSession);
  if (sqlstate.starts_with("22") || sqlstate.starts_with("42")) throw std::logic_error(text);
  throw Unavailable(text);
}

}  // namespace restante::postgres
