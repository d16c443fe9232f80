#include "model/blob_move.h"

#include <fmt/format.h>

#include "store/sqlite/embedded_store.h"
#include "store/sqlite/uploads/upload_rows.h"

namespace restante::sqlite {
namespace {

std::optional<BlobMove> find_move(Database& database) {
  Statement row = database.query("SELECT from_place, to_place, phase, rate, begun_at, phase_at FROM blob_moves");
  if (!row.step()) return std::nullopt;
  return BlobMove{parse_place(row.view(0)).value(),
                  parse_place(row.view(1)).value(),
                  parse_blob_phase(row.view(2)).value(),
                  row.integer(3),
                  row.time(4),
                  row.time(5)};
}

void put_move(Database& database, const BlobMove& move) {
  database.run(
      "INSERT INTO blob_moves (id, from_place, to_place, phase, rate, begun_at, phase_at) VALUES (1, ?, ?, ?, ?, ?, ?) "
      "ON CONFLICT (id) DO UPDATE SET "
      "from_place = excluded.from_place, to_place = excluded.to_place, phase = excluded.phase, "
      "rate = excluded.rate, begun_at = excluded.begun_at, phase_at = excluded.phase_at",
      name_of(move.from), name_of(move.to), name_of(move.phase), move.rate, move.begun_at, move.phase_at);
}

Result<BegunBlobMove> begin(Database& database, Place from, Place to, std::int64_t rate, Time now) {
  auto begun = restante::begin_blob_move(find_move(database), from, to, rate, now);
  if (begun) put_move(database, begun->move);
  return begun;
}

Result<bool> advance(Database& database, const BlobMove& was, BlobPhase phase, Time now) {
  auto move = find_move(database);
  if (!move || move->phase != was.phase || move->from != was.from || move->begun_at != was.begun_at) return false;
  move->phase = phase;
  move->phase_at = now;
  put_move(database, *move);
  return true;
}

std::int64_t place(Database& database, const BlobChange& change, Time now) {
  const std::int64_t before = database.total_changes();
  database.run("UPDATE pending_uploads SET blob_key = ?3, twin_key = ?4 WHERE blob_key = ?1 AND twin_key IS ?2",
               change.was.key, or_null(change.was.twin), change.is.key, or_null(change.is.twin));
  const std::int64_t rows = database.total_changes() - before;
  if (rows == 0) return 0;
  for (const std::string& key : {change.was.key, change.was.twin}) {
    if (key != change.is.key && key != change.is.twin) drop_unless_needed(database, key, now);
  }
  return rows;
}

std::string list_sql(const std::string& key, const std::string& where) {
  // Rows that share a key share everything that is read here but their ids.
  return fmt::format(
      "SELECT blob_key, twin_key, size_bytes, sha256, workspace_id, min(file_id) FROM pending_uploads "
      "WHERE {0} >= ?1 AND {0} < ?2 AND {0} > ?3{1} GROUP BY {0} ORDER BY {0} LIMIT ?4",
      key, where);
}

std::string count_sql(const std::string& key) {
  return fmt::format(
      "SELECT count(*), coalesce(sum(size), 0), "
      "count(damage), coalesce(sum(CASE WHEN damage IS NULL THEN 0 ELSE size END), 0) "
      "FROM (SELECT max(size_bytes) AS size, max(damage) AS damage FROM pending_uploads "
      "WHERE {0} >= ?1 AND {0} < ?2 GROUP BY {0})",
      key);
}

}  // namespace

std::optional<BlobMove> EmbeddedStore::find_blob_move() {
  require_uploads();
  auto reader = readers_.take();
  return find_move(*reader);
}

Commit<Result<BegunBlobMove>> EmbeddedStore::begin_blob_move(Place from, Place to, std::int64_t rate, Time now) {
  require_uploads();
  return writer_.submit(sizeof now,
                        [from, to, rate, now](Database& database) { return begin(database, from, to, rate, now); });
}

Commit<Result<bool>> EmbeddedStore::advance_blob_move(const BlobMove& was, BlobPhase phase, Time now) {
  require_uploads();
  return writer_.submit(sizeof was,
                        [was, phase, now](Database& database) { return advance(database, was, phase, now); });
}

Commit<Result<bool>> EmbeddedStore::take_blob_move_lease(WorkerId worker, Time until, Time now) {
  require_uploads();
  return writer_.submit(sizeof now, [worker, until, now](Database& database) -> Result<bool> {
    const std::int64_t before = database.total_changes();
    database.run(
        "UPDATE blob_moves SET worker = ?1, worker_until = ?2 "
        "WHERE worker IS NULL OR worker = ?1 OR worker_until <= ?3",
        worker, until, now);
    return database.total_changes() > before;
  });
}

std::vector<MovingBlob> EmbeddedStore::list_blobs(KeyRole role, Place place, const std::string& after, int limit) {
  static const std::string by_first = list_sql("blob_key", " AND damage IS NULL");
  static const std::string by_twin = list_sql("twin_key", "");
  require_uploads();
  std::vector<MovingBlob> page;
  const KeyRange keys = keys_of(place);
  auto reader = readers_.take();
  Statement row =
      reader->query(role == KeyRole::first ? by_first : by_twin, keys.from, keys.until, after, std::max(limit, 0));
  while (row.step()) {
    page.push_back(
        {{row.text(0), row.text(1)}, row.integer(2), row.digest(3), row.id<WorkspaceId>(4), row.id<FileId>(5)});
  }
  return page;
}

Commit<Result<std::int64_t>> EmbeddedStore::change_blob_keys(std::vector<BlobChange> changes, Time now) {
  require_uploads();
  if (changes.empty()) return Commit<Result<std::int64_t>>::ready(0);
  const std::size_t bytes = changes.size() * 256;
  return writer_.submit(bytes, [changes = std::move(changes), now](Database& database) -> Result<std::int64_t> {
    std::int64_t rows = 0;
    for (const auto& change : changes) rows += place(database, change, now);
    return rows;
  });
}

std::vector<PlaceFigures> EmbeddedStore::count_blobs() {
  static const std::string by_first = count_sql("blob_key");
  static const std::string by_twin = count_sql("twin_key");
  require_uploads();
  std::vector<PlaceFigures> all;
  auto reader = readers_.take();
  for (const Place place : kPlaces) {
    PlaceFigures figures;
    figures.place = place;
    const KeyRange keys = keys_of(place);
    Statement first = reader->query(by_first, keys.from, keys.until);
    first.step();
    figures.files = first.integer(0);
    figures.bytes = first.integer(1);
    figures.damaged_files = first.integer(2);
    figures.damaged_bytes = first.integer(3);
    Statement twin = reader->query(by_twin, keys.from, keys.until);
    twin.step();
    figures.twin_files = twin.integer(0);
    figures.twin_bytes = twin.integer(1);
    all.push_back(figures);
  }
  return all;
}

}  // namespace restante::sqlite
