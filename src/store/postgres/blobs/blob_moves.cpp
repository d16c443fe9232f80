#include "model/blob_move.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "store/postgres/shared_store.h"

namespace restante::postgres {
namespace {

std::set<WorkspaceId> owners_of(Transaction& transaction, const Array& keys) {
  std::set<WorkspaceId> owners;
  for (const Row row : transaction.connection().query(
           "SELECT DISTINCT workspace_id FROM pending_uploads WHERE blob_key = ANY($1)", keys)) {
    owners.insert(row.id<WorkspaceId>(0));
  }
  return owners;
}

// The heads of all workspaces that share the blobs are locked first, so that no verb works with keys that are about to
// change. A copy may be committed between the list and the locks: a verb that copies the copy would keep a key that is
// dropped here. Once the second list has no other owner, there is no such verb: it would need one of these heads.
void lock_owners(Transaction& transaction, const Array& keys) {
  const auto owners = owners_of(transaction, keys);
  transaction.lock({owners.begin(), owners.end()});
  if (!std::ranges::includes(owners, owners_of(transaction, keys))) {
    throw Conflict("a file was copied to another workspace before its blob could be locked");
  }
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

}  // namespace

std::string SharedStore::list_blobs_sql(const std::string& key, const std::string& where) {
  // Rows that share a key differ, among the columns read here, only in their ids.
  return fmt::format(
      "SELECT DISTINCT ON ({0}) blob_key, twin_key, size_bytes, sha256, workspace_id, file_id FROM pending_uploads "
      "WHERE {0} >= $1 AND {0} < $2 AND {0} > $3{1} ORDER BY {0} LIMIT $4",
      key, where);
}

std::string SharedStore::count_blobs_sql(const std::string& key) {
  return fmt::format(
      "SELECT count(*), coalesce(sum(size), 0)::bigint, "
      "count(damage), coalesce(sum(size) FILTER (WHERE damage IS NOT NULL), 0)::bigint "
      "FROM (SELECT DISTINCT ON ({0}) size_bytes AS size, damage FROM pending_uploads "
      "WHERE {0} >= $1 AND {0} < $2 ORDER BY {0}) AS blobs",
      key);
}

Commit<Result<std::int64_t>> SharedStore::change_blob_keys(std::vector<BlobChange> changes, Time now) {
  require_uploads();
  if (changes.empty()) return Commit<Result<std::int64_t>>::ready(0);
  const std::size_t bytes = changes.size() * 256;
  return maintenance_lane_.submit(
      {.alone = true}, bytes,
      [changes = std::move(changes), now](Transaction& transaction) { return place(transaction, changes, now); });
}

}  // namespace restante::postgres
