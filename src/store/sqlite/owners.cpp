#include "store/sqlite/embedded_store.h"

namespace restante::sqlite {
namespace {

std::optional<Office> find(Database& database) {
  Statement row = database.query("SELECT office, setting FROM post_offices");
  if (!row.step()) return std::nullopt;
  Office office{row.id<OfficeId>(0), parse_place(row.view(1)).value(), {}};
  Statement mark = database.query("SELECT place, office, mark FROM place_marks");
  while (mark.step()) {
    office.marks[parse_place(mark.view(0)).value()] = {mark.id<OfficeId>(1), mark.id<MarkId>(2)};
  }
  return office;
}

Result<Office> enter(Database& database, OfficeId fresh, Place setting) {
  auto was = find(database);
  if (!was || was->setting != setting) {
    database.run(
        "INSERT INTO post_offices (id, office, setting) VALUES (1, ?, ?) ON CONFLICT (id) DO UPDATE SET setting = "
        "excluded.setting",
        fresh, name_of(setting));
  }
  return was ? *was : find(database).value();
}

bool note(Database& database, Place place, const std::optional<OwnerMark>& was, const OwnerMark& is) {
  const std::int64_t before = database.total_changes();
  if (was) {
    database.run("UPDATE place_marks SET office = ?4, mark = ?5 WHERE place = ?1 AND office = ?2 AND mark = ?3",
                 name_of(place), was->office, was->mark, is.office, is.mark);
  } else {
    database.run("INSERT INTO place_marks (place, office, mark) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                 name_of(place), is.office, is.mark);
  }
  return database.total_changes() > before;
}

}  // namespace

void EmbeddedStore::require_owners() const {
  if (!owners_ready_) throw Unavailable("the tables of owners are not there yet: migrate the database");
}

std::optional<Office> EmbeddedStore::find_office() {
  require_owners();
  auto reader = readers_.take();
  return find(*reader);
}

Commit<Result<Office>> EmbeddedStore::enter_office(OfficeId fresh, Place setting) {
  require_owners();
  return writer_.submit(sizeof fresh, [fresh, setting](Database& database) { return enter(database, fresh, setting); });
}

Commit<Result<bool>> EmbeddedStore::note_mark(Place place, const std::optional<OwnerMark>& was, const OwnerMark& is) {
  require_owners();
  return writer_.submit(
      sizeof is, [place, was, is](Database& database) -> Result<bool> { return note(database, place, was, is); });
}

Commit<Result<void>> EmbeddedStore::close_office() {
  require_owners();
  return writer_.submit(1, [](Database& database) -> Result<void> {
    database.run("DELETE FROM post_offices");
    database.run("DELETE FROM place_marks");
    return {};
  });
}

}  // namespace restante::sqlite
