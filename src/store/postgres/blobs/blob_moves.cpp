#include "model/blob_move.h"

#include <fmt/format.h>

#include "store/postgres/shared_store.h"

namespace restante::postgres {
namespace {

const std::string kSelectMove = "SELECT from_place, to_place, phase, rate, begun_at, phase_at FROM blob_moves";

std::optional<BlobMove> move_of(const Rows& rows) {
  if (rows.empty()) return std::nullopt;
  const Row row = rows.front();
  return BlobMove{parse_place(row.view(0)).value(),
                  parse_place(row.view(1)).value(),
                  parse_blob_phase(row.view(2)).value(),
                  row.integer(3),
                  row.time(4),
                  row.time(5)};
}

std::optional<BlobMove> lock_move(Transaction& transaction) {
  return move_of(transaction.connection().query(kSelectMove + " FOR UPDATE"));
}

void put_move(Transaction& transaction, const BlobMove& move) {
  transaction.run(
      "UPDATE blob_moves SET from_place = $1, to_place = $2, phase = $3, rate = $4, begun_at = $5, phase_at = $6",
      name_of(move.from), name_of(move.to), name_of(move.phase), move.rate, move.begun_at, move.phase_at);
}

// The first move inserts the row. When two servers do it at the same time, the second one finds it.
bool make_move(Transaction& transaction, const BlobMove& move) {
  return transaction.change(
             "INSERT INTO blob_moves (from_place, to_place, phase, rate, begun_at, phase_at) "
             "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
             name_of(move.from), name_of(move.to), name_of(move.phase), move.rate, move.begun_at, move.phase_at) == 1;
}

Result<BegunBlobMove> begin(Transaction& transaction, Place from, Place to, std::int64_t rate, Time now) {
  auto was = lock_move(transaction);
  if (!was) {
    const auto first = restante::begin_blob_move(was, from, to, rate, now).value();
    if (make_move(transaction, first.move)) return first;
    was = lock_move(transaction);
  }
  auto begun = restante::begin_blob_move(was, from, to, rate, now);
  if (begun) put_move(transaction, begun->move);
  return begun;
}

Result<bool> advance(Transaction& transaction, const BlobMove& was, BlobPhase phase, Time now) {
  auto move = lock_move(transaction);
  if (!move || move->phase != was.phase || move->from != was.from || move->begun_at != was.begun_at) return false;
  move->phase = phase;
  move->phase_at = now;
  put_move(transaction, *move);
  return true;
}

// The heads of all workspaces that share the blobs are locked first, so that no verb works with keys that are about to
// change.
void lock_owners(Transaction& transaction, const Array& keys) {
  std::set<WorkspaceId> owners;
  for (const Row row : transaction.connection().query(
           "SELECT DISTINCT workspace_id FROM pending_uploads WHERE blob_key = ANY($1)", keys)) {
    owners.insert(row.id<WorkspaceId>(0));
  }
  transaction.lock({owners.begin(), owners.end()});
}

// The keys that a change replaces; none for a change that matched no row.
std::vector<std::string> replaced_keys(const std::vector<BlobChange>& changes, const std::set<std::string>& changed) {
  std::vector<std::string> replaced;
  for (const auto& change : changes) {
    if (!changed.contains(change.was.key)) continue;
    for (const std::string& key : {change.was.key, change.was.twin}) {
      if (!key.empty() && key != change.is.key && key != change.is.twin) replaced.push_back(key);
    }
  }
  return replaced;
}

Result<std::int64_t> place(Transaction& transaction, const std::vector<BlobChange>& changes, Time now) {
  Array was(Type::text);
  Array was_twin(Type::text);
  Array is(Type::text);
  Array is_twin(Type::text);
  for (const auto& change : changes) {
    was.add(change.was.key);
    was_twin.add(or_null(change.was.twin));
    is.add(change.is.key);
    is_twin.add(or_null(change.is.twin));
  }
  lock_owners(transaction, was);
  const auto rows = transaction.connection().query(
      "UPDATE pending_uploads p SET blob_key = c.is_key, twin_key = c.is_twin "
      "FROM unnest($1, $2, $3, $4) AS c (was_key, was_twin, is_key, is_twin) "
      "WHERE p.blob_key = c.was_key AND p.twin_key IS NOT DISTINCT FROM c.was_twin "
      "RETURNING c.was_key",
      was, was_twin, is, is_twin);
  std::set<std::string> changed;
  for (const Row row : rows) changed.insert(row.text(0));
  if (!changed.empty()) transaction.changed();
  transaction.drop_unless_needed(replaced_keys(changes, changed), now);
  return rows.affected();
}

std::string list_sql(const std::string& key, const std::string& where) {
  // Rows that share a key differ, among the columns read here, only in their ids.
  return fmt::format(
      "SELECT DISTINCT ON ({0}) blob_key, twin_key, size_bytes, sha256, workspace_id, file_id FROM pending_uploads "
      "WHERE {0} >= $1 AND {0} < $2 AND {0} > $3{1} ORDER BY {0} LIMIT $4",
      key, where);
}

std::string count_sql(const std::string& key) {
  return fmt::format(
      "SELECT count(*), coalesce(sum(size), 0)::bigint, "
      "count(damage), coalesce(sum(size) FILTER (WHERE damage IS NOT NULL), 0)::bigint "
      "FROM (SELECT DISTINCT ON ({0}) size_bytes AS size, damage FROM pending_uploads "
      "WHERE {0} >= $1 AND {0} < $2 ORDER BY {0}) AS blobs",
      key);
}

}  // namespace

std::optional<BlobMove> SharedStore::find_blob_move() {
  require_uploads();
  return pool_.use([](Connection& connection) { return move_of(connection.query(kSelectMove)); });
}

Commit<Result<BegunBlobMove>> SharedStore::begin_blob_move(Place from, Place to, std::int64_t rate, Time now) {
  require_uploads();
  return maintenance_lane_.submit({.alone = true}, sizeof now, [from, to, rate, now](Transaction& transaction) {
    return begin(transaction, from, to, rate, now);
  });
}

Commit<Result<bool>> SharedStore::advance_blob_move(const BlobMove& was, BlobPhase phase, Time now) {
  require_uploads();
  return maintenance_lane_.submit({.alone = true}, sizeof was, [was, phase, now](Transaction& transaction) {
    return advance(transaction, was, phase, now);
  });
}

Commit<Result<bool>> SharedStore::take_blob_move_lease(WorkerId worker, Time until, Time now) {
  require_uploads();
  return maintenance_lane_.submit({.alone = true}, sizeof now,
                                  [worker, until, now](Transaction& transaction) -> Result<bool> {
                                    return transaction.change(
                                               "UPDATE blob_moves SET worker = $1, worker_until = $2 "
                                               "WHERE worker IS NULL OR worker = $1 OR worker_until <= $3",
                                               worker, until, now) > 0;
                                  });
}

std::vector<MovingBlob> SharedStore::list_blobs(KeyRole role, Place place, const std::string& after, int limit) {
  static const std::string by_first = list_sql("blob_key", " AND damage IS NULL");
  static const std::string by_twin = list_sql("twin_key", "");
  require_uploads();
  const KeyRange keys = keys_of(place);
  return pool_.use([&](Connection& connection) {
    std::vector<MovingBlob> page;
    for (const Row row : connection.query(role == KeyRole::first ? by_first : by_twin, keys.from, keys.until, after,
                                          std::max(limit, 0))) {
      page.push_back(
          {{row.text(0), row.text(1)}, row.integer(2), row.digest(3), row.id<WorkspaceId>(4), row.id<FileId>(5)});
    }
    return page;
  });
}

Commit<Result<std::int64_t>> SharedStore::change_blob_keys(std::vector<BlobChange> changes, Time now) {
  require_uploads();
  if (changes.empty()) return Commit<Result<std::int64_t>>::ready(0);
  const std::size_t bytes = changes.size() * 256;
  return maintenance_lane_.submit(
      {.alone = true}, bytes,
      [changes = std::move(changes), now](Transaction& transaction) { return place(transaction, changes, now); });
}

std::vector<PlaceFigures> SharedStore::count_blobs() {
  static const std::string by_first = count_sql("blob_key");
  static const std::string by_twin = count_sql("twin_key");
  require_uploads();
  return pool_.use([&](Connection& connection) {
    std::vector<PlaceFigures> all;
    for (const Place place : kPlaces) {
      PlaceFigures figures;
      figures.place = place;
      const KeyRange keys = keys_of(place);
      const auto first = connection.query(by_first, keys.from, keys.until);
      figures.files = first.front().integer(0);
      figures.bytes = first.front().integer(1);
      figures.damaged_files = first.front().integer(2);
      figures.damaged_bytes = first.front().integer(3);
      const auto twin = connection.query(by_twin, keys.from, keys.until);
      figures.twin_files = twin.front().integer(0);
      figures.twin_bytes = twin.front().integer(1);
      all.push_back(figures);
    }
    return all;
  });
}

}  // namespace restante::postgres
