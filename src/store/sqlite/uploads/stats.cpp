#include "store/sqlite/embedded_store.h"
#include "store/sqlite/uploads/upload_rows.h"
#include "store/upload_figures.h"

namespace restante::sqlite {
namespace {

// The condition of a group, and an upper bound of its size from the stored counts. The bound is the query's LIMIT, so
// that the rows of a small or empty group are not searched for among many others.
struct Group {
  std::string where;
  std::string bound;
};

Group group_of(UploadGroup group) {
  const std::string waiting = "acked_at IS NULL AND expires_at > ?1 AND direction = 'in'";
  switch (group) {
    case UploadGroup::waiting:
      return {waiting, "staged_files - acked_files - outgoing_files"};
    case UploadGroup::never_fetched:
      return {waiting + " AND fetched_at IS NULL AND failed_at IS NULL",
              "staged_files - acked_files - outgoing_files - fetched_files - failed_files"};
    case UploadGroup::fetched:
      return {waiting + " AND fetched_at IS NOT NULL AND failed_at IS NULL", "fetched_files"};
    case UploadGroup::failed:
      return {waiting + " AND failed_at IS NOT NULL", "failed_files"};
    case UploadGroup::acked:
      return {"acked_at IS NOT NULL AND ?1 IS NOT NULL", "acked_files"};
    case UploadGroup::expired:
      return {"acked_at IS NULL AND expires_at <= ?1", "staged_files"};
    case UploadGroup::outgoing:
      return {"acked_at IS NULL AND expires_at > ?1 AND direction = 'out'", "outgoing_files"};
    case UploadGroup::damaged:
      return {"damage IS NOT NULL AND ?1 IS NOT NULL", "staged_files"};
  }
  return {"?1 IS NULL", "0"};
}

// Small groups have their own index.
const char* index_of(UploadGroup group) {
  if (group == UploadGroup::failed) return "INDEXED BY idx_pending_uploads_failed ";
  return group == UploadGroup::damaged ? "INDEXED BY idx_pending_uploads_damaged " : "";
}

const char* order_of(UploadGroup group) { return group == UploadGroup::acked ? "acked_at" : "expires_at"; }

// Every parameter is always bound, so that the number of different statements stays small.
std::string list_sql(const UploadFilter& filter) {
  const Group group = group_of(filter.group);
  const std::string order = order_of(filter.group);
  const std::string own = filter.workspace ? "workspace_id = ?2" : "?2 IS NULL";
  return kSelectUploadRows + index_of(filter.group) + "WHERE " + group.where + " AND " + own +
         " AND expires_at < ?3 AND (" + order + ", rowid) > (?4, ?5) ORDER BY " + order +
         ", rowid LIMIT min(?6, (SELECT coalesce(sum(" + group.bound + "), 0) FROM inbox_heads WHERE " + own + "))";
}

// A read transaction: all statements see the same moment.
class Snapshot {
 public:
  explicit Snapshot(Database& database) : database_(database) { database_.run("BEGIN"); }
  ~Snapshot() { database_.rollback(); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  Database& database_;
};

UploadTally tally_of(const Statement& row, int column) { return {row.integer(column), row.integer(column + 1)}; }

StatsByWorkspace kept_figures(Database& database) {
  Statement row = database.query(
      "SELECT workspace_id, staged_files, staged_bytes, fetched_files, fetched_bytes, failed_files, failed_bytes, "
      "acked_files, acked_bytes, outgoing_files, outgoing_bytes FROM inbox_heads WHERE staged_files > 0");
  StatsByWorkspace all;
  while (row.step()) {
    UploadTallies kept;
    kept.staged = tally_of(row, 1);
    kept.fetched = tally_of(row, 3);
    kept.failed = tally_of(row, 5);
    kept.acked = tally_of(row, 7);
    kept.outgoing = tally_of(row, 9);
    all[row.id<WorkspaceId>(0)] = stats_of(kept);
  }
  return all;
}

void count_as_expired(Database& database, StatsByWorkspace& all, Time now) {
  Statement row = database.query(
      "SELECT workspace_id, direction, failed_at IS NOT NULL, fetched_at IS NOT NULL, count(*), sum(size_bytes) FROM "
      "pending_uploads WHERE acked_at IS NULL AND expires_at <= ? GROUP BY 1, 2, 3, 4",
      now);
  while (row.step()) {
    const auto direction = row.view(1) == "out" ? UploadDirection::out : UploadDirection::in;
    restante::count_as_expired(all[row.id<WorkspaceId>(0)],
                               {direction, row.integer(2) != 0, row.integer(3) != 0, tally_of(row, 4)});
  }
}

void count_damaged(Database& database, StatsByWorkspace& all) {
  Statement row = database.query(
      "SELECT workspace_id, count(*), sum(size_bytes) FROM pending_uploads INDEXED BY idx_pending_uploads_damaged "
      "WHERE damage IS NOT NULL GROUP BY 1");
  while (row.step()) all[row.id<WorkspaceId>(0)].damaged = tally_of(row, 1);
}

std::optional<Time> oldest_of(Database& database, WorkspaceId workspace, Time now) {
  Statement row = database.query(
      "SELECT created_at FROM pending_uploads WHERE workspace_id = ?1 AND acked_at IS NULL AND expires_at > ?2 AND "
      "direction = 'in' ORDER BY created_at LIMIT 1",
      workspace, now);
  return row.step() ? std::optional<Time>(row.time(0)) : std::nullopt;
}

}  // namespace

std::vector<Upload> EmbeddedStore::list_uploads(const UploadFilter& filter, Time now) {
  std::vector<Upload> page;
  if (!uploads_ready_) return page;
  auto reader = readers_.take();
  std::int64_t position = INT64_MIN;
  std::int64_t rowid = 0;
  // When `after` was deleted meanwhile, the list starts from the beginning, as in list_waiting().
  if (filter.after) {
    const std::string sql = std::string("SELECT ") + order_of(filter.group) +
                            ", rowid FROM pending_uploads WHERE file_id = ?1 AND (?2 IS NULL OR workspace_id = ?2)";
    Statement row = reader->query(sql, *filter.after, filter.workspace);
    if (row.step() && !row.is_null(0)) position = row.integer(0), rowid = row.integer(1);
  }
  Statement row = reader->query(list_sql(filter), now, filter.workspace, filter.expires_before.value_or(Time::max()),
                                position, rowid, std::max(filter.limit, 0));
  while (row.step()) page.push_back(upload_row_of(row).upload);
  return page;
}

AllUploadStats EmbeddedStore::upload_stats(Time now) {
  if (!uploads_ready_) return {};
  auto reader = readers_.take();
  const Snapshot snapshot(*reader);
  auto all = kept_figures(*reader);
  count_as_expired(*reader, all, now);
  count_damaged(*reader, all);
  for (auto& [workspace, one] : all) {
    if (one.never_fetched.files + one.fetched.files + one.failed.files > 0) {
      one.oldest = oldest_of(*reader, workspace, now);
    }
  }
  return sum_of(std::move(all));
}

}  // namespace restante::sqlite
