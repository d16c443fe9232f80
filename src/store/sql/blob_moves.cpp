#include "model/blob_move.h"

#include <algorithm>
#include <array>

#include "store/sql/store.h"

namespace restante {
namespace {

constexpr const char* kSelectMove = "SELECT from_place, to_place, phase, rate, begun_at, phase_at FROM blob_moves";
constexpr const char* kLockMove =
    "SELECT from_place, to_place, phase, rate, begun_at, phase_at FROM blob_moves FOR UPDATE";

BlobMove move_of(const SqlRow& row) {
  return {parse_place(row.view(0)).value(),
          parse_place(row.view(1)).value(),
          parse_blob_phase(row.view(2)).value(),
          row.integer(3),
          row.time(4),
          row.time(5)};
}

void put_move(SqlTransaction& transaction, const BlobMove& move) {
  transaction.run(
      "UPDATE blob_moves SET from_place = $1, to_place = $2, phase = $3, rate = $4, begun_at = $5, phase_at = $6",
      name_of(move.from), name_of(move.to), name_of(move.phase), move.rate, move.begun_at, move.phase_at);
}

// The first move inserts the row. When two servers do it at the same time, the second one finds it.
bool make_move(SqlTransaction& transaction, const BlobMove& move) {
  return transaction.change(
             "INSERT INTO blob_moves (id, from_place, to_place, phase, rate, begun_at, phase_at) "
             "VALUES (1, $1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
             name_of(move.from), name_of(move.to), name_of(move.phase), move.rate, move.begun_at, move.phase_at) == 1;
}

Result<BegunBlobMove> begin(SqlTransaction& transaction, Place from, Place to, std::int64_t rate, Time now) {
  auto was = transaction.find(move_of, kLockMove);
  if (!was) {
    const auto first = begin_blob_move(was, from, to, rate, now).value();
    if (make_move(transaction, first.move)) return first;
    was = transaction.find(move_of, kLockMove);
  }
  auto begun = begin_blob_move(was, from, to, rate, now);
  if (begun) put_move(transaction, begun->move);
  return begun;
}

Result<bool> advance(SqlTransaction& transaction, const BlobMove& was, BlobPhase phase, Time now) {
  auto move = transaction.find(move_of, kLockMove);
  if (!move || move->phase != was.phase || move->from != was.from || move->begun_at != was.begun_at) return false;
  move->phase = phase;
  move->phase_at = now;
  put_move(transaction, *move);
  return true;
}

MovingBlob moving_blob_of(const SqlRow& row) {
  return {{row.text(0), row.text(1)}, row.integer(2), row.digest(3), row.id<WorkspaceId>(4), row.id<FileId>(5)};
}

std::array<std::int64_t, 4> counts_of(const SqlRow& row) {
  return {row.integer(0), row.integer(1), row.integer(2), row.integer(3)};
}

}  // namespace

std::optional<BlobMove> SqlStore::find_blob_move() {
  require_uploads();
  return read([](SqlReader& reader) { return reader.find(move_of, kSelectMove); });
}

Commit<Result<BegunBlobMove>> SqlStore::begin_blob_move(Place from, Place to, std::int64_t rate, Time now) {
  require_uploads();
  return write(maintenance_hints(), sizeof now,
               [from, to, rate, now](SqlTransaction& transaction) { return begin(transaction, from, to, rate, now); });
}

Commit<Result<bool>> SqlStore::advance_blob_move(const BlobMove& was, BlobPhase phase, Time now) {
  require_uploads();
  return write(maintenance_hints(), sizeof was,
               [was, phase, now](SqlTransaction& transaction) { return advance(transaction, was, phase, now); });
}

Commit<Result<bool>> SqlStore::take_blob_move_lease(WorkerId worker, Time until, Time now) {
  require_uploads();
  return write(maintenance_hints(), sizeof now, [worker, until, now](SqlTransaction& transaction) -> Result<bool> {
    return transaction.change(
               "UPDATE blob_moves SET worker = $1, worker_until = $2 "
               "WHERE worker IS NULL OR worker = $1 OR worker_until <= $3",
               worker, until, now) > 0;
  });
}

std::vector<MovingBlob> SqlStore::list_blobs(KeyRole role, Place place, const std::string& after, int limit) {
  require_uploads();
  const std::string sql =
      role == KeyRole::first ? list_blobs_sql("blob_key", " AND damage IS NULL") : list_blobs_sql("twin_key", "");
  const KeyRange keys = keys_of(place);
  return read([&](SqlReader& reader) {
    return reader.select(moving_blob_of, sql, keys.from, keys.until, after, std::max(limit, 0));
  });
}

std::vector<PlaceFigures> SqlStore::count_blobs() {
  require_uploads();
  const std::string by_first = count_blobs_sql("blob_key");
  const std::string by_twin = count_blobs_sql("twin_key");
  return read([&](SqlReader& reader) {
    std::vector<PlaceFigures> all;
    for (const Place place : kPlaces) {
      PlaceFigures figures;
      figures.place = place;
      const KeyRange keys = keys_of(place);
      const auto first = reader.find(counts_of, by_first, keys.from, keys.until).value();
      figures.files = first[0];
      figures.bytes = first[1];
      figures.damaged_files = first[2];
      figures.damaged_bytes = first[3];
      const auto twin = reader.find(counts_of, by_twin, keys.from, keys.until).value();
      figures.twin_files = twin[0];
      figures.twin_bytes = twin[1];
      all.push_back(figures);
    }
    return all;
  });
}

}  // namespace restante
