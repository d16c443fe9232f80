#include "model/owner.h"

#include "store/sql/store.h"

namespace restante {
namespace {

std::optional<Installation> find(SqlReader& reader) {
  auto installation = reader.find(
      [](const SqlRow& row) { return Installation{row.id<InstallationId>(0), parse_place(row.view(1)).value(), {}}; },
      "SELECT office, setting FROM post_offices");
  if (!installation) return std::nullopt;
  reader.each(
      [&](const SqlRow& mark) {
        installation->marks[parse_place(mark.view(0)).value()] = {mark.id<InstallationId>(1), mark.id<MarkId>(2)};
        return true;
      },
      "SELECT place, office, mark FROM place_marks");
  return installation;
}

Result<Installation> ensure(SqlTransaction& transaction, InstallationId fresh, Place setting) {
  // When two servers do this at the same time, one waits here and finds the row of the other.
  transaction.lock_table("post_offices");
  const auto was = find(transaction);
  if (!was || was->setting != setting) {
    transaction.run(
        "INSERT INTO post_offices (id, office, setting) VALUES (1, $1, $2) ON CONFLICT (id) DO UPDATE SET setting = "
        "excluded.setting",
        fresh, name_of(setting));
  }
  return was ? *was : find(transaction).value();
}

bool record(SqlTransaction& transaction, Place place, const std::optional<OwnerMark>& was, const OwnerMark& is) {
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

std::optional<Installation> SqlStore::find_installation() {
  require_uploads();
  return read([](SqlReader& reader) { return find(reader); });
}

Commit<Result<Installation>> SqlStore::ensure_installation(InstallationId fresh, Place setting) {
  require_uploads();
  return write(maintenance_hints(), sizeof fresh,
               [fresh, setting](SqlTransaction& transaction) { return ensure(transaction, fresh, setting); });
}

Commit<Result<bool>> SqlStore::record_mark(Place place, const std::optional<OwnerMark>& was, const OwnerMark& is) {
  require_uploads();
  return write(maintenance_hints(), sizeof is, [place, was, is](SqlTransaction& transaction) -> Result<bool> {
    return record(transaction, place, was, is);
  });
}

Commit<Result<void>> SqlStore::reset_installation() {
  require_uploads();
  return write(maintenance_hints(), 1, [](SqlTransaction& transaction) -> Result<void> {
    transaction.run("DELETE FROM post_offices");
    transaction.run("DELETE FROM place_marks");
    return {};
  });
}

}  // namespace restante
