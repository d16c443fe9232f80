#include "store/postgres/failures.h"

#include <algorithm>
#include <iterator>

namespace restante::postgres {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view sqlstate, const std::string_view (&all)[N]) {
  return std::find(std::begin(all), std::end(all), sqlstate) != std::end(all);
}

bool means_lost(std::string_view sqlstate) {
  // The server ends sessions by these. One that has become read-only is of no use either: another may be the primary.
  static constexpr std::string_view kEnded[] = {"57P01", "57P02", "57P03", "57P05", "25P03", "25006"};
  return sqlstate.starts_with("08") || is_one_of(sqlstate, kEnded);
}

bool means_conflict(std::string_view sqlstate) {
  static constexpr std::string_view kConflicts[] = {"40001", "40P01", "55P03"};
  return is_one_of(sqlstate, kConflicts);
}

constexpr const char* kNeedsSession =
    "; sessions of its own are needed: name PostgreSQL itself, or a pgbouncer with pool_mode = session";

}  // namespace

void raise(std::string_view sqlstate, const std::string& what) {
  static constexpr std::string_view kNotForNow[] = {"42P01", "42703", "42883", "3F000", "42501"};
  static constexpr std::string_view kNoSession[] = {"42P05", "26000"};
  const std::string said = "PostgreSQL: " + what + " (" + std::string(sqlstate) + ")";
  if (sqlstate.empty() || means_lost(sqlstate)) throw Lost(said);
  if (means_conflict(sqlstate)) throw Conflict(said);
  if (sqlstate == "53100") throw StorageFull(said);
  if (sqlstate == "23505") throw KeyTaken(said);
  if (sqlstate.starts_with("23")) throw ConstraintFailed(said);
  // What a migration has not made yet, or the operator has not allowed, is missing for now; everything else of the kind
  // is a statement of ours.
  if (is_one_of(sqlstate, kNotForNow)) throw Unavailable(said);
  // Somebody else's statements in our session, or ours in another's.
  if (is_one_of(sqlstate, kNoSession)) throw Unavailable(said + kNeedsSession);
  if (sqlstate.starts_with("22") || sqlstate.starts_with("42")) throw std::logic_error(said);
  throw Unavailable(said);
}

}  // namespace restante::postgres
