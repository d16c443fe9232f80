#include "store/sqlite/embedded_store.h"

namespace restante::sqlite {
namespace {

std::optional<Installation> find(Database& database) {
  Statement row = database.query("SELECT office, setting FROM post_offices");
  if (!row.step()) return std::nullopt;
  Installation installation{row.id<InstallationId>(0), parse_place(row.view(1)).value(), {}};
  Statement mark = database.query("SELECT place, office, mark FROM place_marks");
  while (mark.step()) {
    installation.marks[parse_place(mark.view(0)).value()] = {mark.id<InstallationId>(1), mark.id<MarkId>(2)};
  }
  return installation;
}

Result<Installation> ensure(Database& database, InstallationId fresh, Place setting) {
  auto was = find(database);
  if (!was || was->setting != setting) {
    database.run(
        "INSERT INTO post_offices (id, office, setting) VALUES (1, ?, ?) ON CONFLICT (id) DO UPDATE SET setting = "
        "excluded.setting",
        fresh, name_of(setting));
  }
  return was ? *was : find(database).value();
}

bool record(Database& database, Place place, const std::optional<OwnerMark>& was, const OwnerMark& is) {
  const std::int64_t before = database.total_changes();
  if (was) {
    database.run("UPDATE place_marks SET office = ?4, mark = ?5 WHERE place = ?1 AND office = ?2 AND mark = ?3",
                 name_of(place), was->installation, was->mark, is.installation, is.mark);
  } else {
    database.run("INSERT INTO place_marks (place, office, mark) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                 name_of(place), is.installation, is.mark);
  }
  return database.total_changes() > before;
}

}  // namespace

std::optional<Installation> EmbeddedStore::find_installation() {
  require_uploads();
  auto reader = readers_.take();
  return find(*reader);
}

Commit<Result<Installation>> EmbeddedStore::ensure_installation(InstallationId fresh, Place setting) {
  require_uploads();
  return writer_.submit(sizeof fresh,
                        [fresh, setting](Database& database) { return ensure(database, fresh, setting); });
}

Commit<Result<bool>> EmbeddedStore::record_mark(Place place, const std::optional<OwnerMark>& was, const OwnerMark& is) {
  require_uploads();
  return writer_.submit(
      sizeof is, [place, was, is](Database& database) -> Result<bool> { return record(database, place, was, is); });
}

Commit<Result<void>> EmbeddedStore::reset_installation() {
  require_uploads();
  return writer_.submit(1, [](Database& database) -> Result<void> {
    database.run("DELETE FROM post_offices");
    database.run("DELETE FROM place_marks");
    return {};
  });
}

}  // namespace restante::sqlite
