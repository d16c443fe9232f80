#include "store/postgres/shared_store.h"

namespace restante::postgres {
namespace {

std::optional<Installation> find(Connection& connection) {
  const auto rows = connection.query("SELECT office, setting FROM post_offices");
  if (rows.empty()) return std::nullopt;
  Installation installation{rows.front().id<InstallationId>(0), parse_place(rows.front().view(1)).value(), {}};
  for (const Row mark : connection.query("SELECT place, office, mark FROM place_marks")) {
    installation.marks[parse_place(mark.view(0)).value()] = {mark.id<InstallationId>(1), mark.id<MarkId>(2)};
  }
  return installation;
}

// When two servers do this at the same time, one waits here and finds the row of the other.
Result<Installation> ensure(Transaction& transaction, InstallationId fresh, Place setting) {
  transaction.connection().query("LOCK TABLE post_offices IN SHARE ROW EXCLUSIVE MODE");
  auto was = find(transaction.connection());
  if (!was) {
    transaction.run("INSERT INTO post_offices (office, setting) VALUES ($1, $2)", fresh, name_of(setting));
    was = find(transaction.connection());
  } else if (was->setting != setting) {
    transaction.run("UPDATE post_offices SET setting = $1", name_of(setting));
  }
  return was.value();
}

bool record(Transaction& transaction, Place place, const std::optional<OwnerMark>& was, const OwnerMark& is) {
  if (!was) {
    return transaction.change(
               "INSERT INTO place_marks (place, office, mark) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
               name_of(place), is.installation, is.mark) == 1;
  }
  return transaction.change(
             "UPDATE place_marks SET office = $4, mark = $5 WHERE place = $1 AND office = $2 AND mark = $3",
             name_of(place), was->installation, was->mark, is.installation, is.mark) == 1;
}

}  // namespace

std::optional<Installation> SharedStore::find_installation() {
  require_uploads();
  return pool_.use([](Connection& connection) { return find(connection); });
}

Commit<Result<Installation>> SharedStore::ensure_installation(InstallationId fresh, Place setting) {
  require_uploads();
  return maintenance_lane_.submit({.alone = true}, sizeof fresh, [fresh, setting](Transaction& transaction) {
    return ensure(transaction, fresh, setting);
  });
}

Commit<Result<bool>> SharedStore::record_mark(Place place, const std::optional<OwnerMark>& was, const OwnerMark& is) {
  require_uploads();
  return maintenance_lane_.submit(
      {.alone = true}, sizeof is,
      [place, was, is](Transaction& transaction) -> Result<bool> { return record(transaction, place, was, is); });
}

Commit<Result<void>> SharedStore::reset_installation() {
  require_uploads();
  return maintenance_lane_.submit({.alone = true}, 1, [](Transaction& transaction) -> Result<void> {
    transaction.run("DELETE FROM post_offices");
    transaction.run("DELETE FROM place_marks");
    return {};
  });
}

}  // namespace restante::postgres
