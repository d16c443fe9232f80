#include <map>

#include "store/postgres/shared_store.h"
#include "store/row_columns.h"
#include "store/upload_figures.h"

namespace restante::postgres {
namespace {

// The condition of a group, and an upper bound of its size, so that the search stops when a small or empty group has
// been read.
struct Group {
  std::string where;
  std::string bound;
};

Group group_of(UploadGroup group) {
  const std::string waiting = "acked_at IS NULL AND expires_at > $1 AND direction = 'in'";
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
      return {"acked_at IS NOT NULL AND $1 IS NOT NULL", "acked_files"};
    case UploadGroup::expired:
      return {"acked_at IS NULL AND expires_at <= $1", "staged_files"};
    case UploadGroup::outgoing:
      return {"acked_at IS NULL AND expires_at > $1 AND direction = 'out'", "outgoing_files"};
    case UploadGroup::damaged:
      return {"damage IS NOT NULL AND $1 IS NOT NULL", "staged_files"};
  }
  return {"$1 IS NULL", "0"};
}

const char* order_of(UploadGroup group) { return group == UploadGroup::acked ? "acked_at" : "expires_at"; }

// Every parameter is always bound, so that the number of different statements stays small.
std::string list_sql(const UploadFilter& filter) {
  const Group group = group_of(filter.group);
  const std::string order = order_of(filter.group);
  const std::string own = filter.workspace ? "workspace_id = $2" : "$2::uuid IS NULL";
  return kSelectUploads + "WHERE " + group.where + " AND " + own + " AND expires_at < $3 AND " + order +
         " >= $4 AND (" + order + ", position) > ($4, $5) ORDER BY " + order +
         ", position LIMIT least($6, (SELECT coalesce(sum(" + group.bound + "), 0)::bigint FROM inbox_heads WHERE " +
         own + "))";
}

UploadTally tally_of(const Row& row, int column) { return {row.integer(column), row.integer(column + 1)}; }

StatsByWorkspace kept_figures(const Rows& rows) {
  StatsByWorkspace all;
  for (const Row row : rows) {
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

}  // namespace

std::vector<Upload> SharedStore::list_uploads(const UploadFilter& filter, Time now) {
  if (!uploads_ready_) return {};
  return pool_.use([&](Connection& connection) {
    Time position = Time::min();
    std::int64_t tie = 0;
    // If the upload `after` has been deleted, the list starts from the front again, as in list_waiting().
    if (filter.after) {
      const std::string sql = std::string("SELECT ") + order_of(filter.group) +
                              ", position FROM pending_uploads WHERE file_id = $1 AND ($2::uuid IS NULL OR "
                              "workspace_id = $2)";
      const auto found = connection.query(sql, *filter.after, filter.workspace);
      if (!found.empty() && !found.front().is_null(0)) {
        position = found.front().time(0);
        tie = found.front().integer(1);
      }
    }
    std::vector<Upload> page;
    const auto rows =
        connection.query(list_sql(filter), now, filter.workspace, filter.expires_before.value_or(Time::max()), position,
                         tie, std::max(filter.limit, 0));
    for (const Row row : rows) page.push_back(upload_of(row));
    return page;
  });
}

AllUploadStats SharedStore::upload_stats(Time now) {
  if (!uploads_ready_) return {};
  return pool_.use([&](Connection& connection) {
    // One snapshot for all statements, in one round trip.
    connection.send("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    connection.send(
        "SELECT workspace_id, staged_files, staged_bytes, fetched_files, fetched_bytes, failed_files, failed_bytes, "
        "acked_files, acked_bytes, outgoing_files, outgoing_bytes FROM inbox_heads WHERE staged_files > 0");
    connection.send(
        "SELECT workspace_id, direction, failed_at IS NOT NULL, fetched_at IS NOT NULL, count(*), "
        "sum(size_bytes)::bigint FROM pending_uploads WHERE acked_at IS NULL AND expires_at <= $1 GROUP BY 1, 2, 3, 4",
        now);
    connection.send(
        "SELECT workspace_id, count(*), sum(size_bytes)::bigint FROM pending_uploads WHERE damage IS NOT NULL GROUP BY "
        "1");
    connection.send(
        "SELECT h.workspace_id, oldest.created_at FROM inbox_heads h CROSS JOIN LATERAL (SELECT created_at FROM "
        "pending_uploads p WHERE p.workspace_id = h.workspace_id AND acked_at IS NULL AND expires_at > $1 AND "
        "direction "
        "= 'in' ORDER BY created_at LIMIT 1) AS oldest WHERE h.staged_files > 0",
        now);
    connection.send("COMMIT");
    const auto answers = connection.sync();
    auto all = kept_figures(answers[1]);
    for (const Row row : answers[2]) {
      count_as_expired(all[row.id<WorkspaceId>(0)], {parse_upload_direction(row.view(1)).value_or(UploadDirection::in),
                                                     row.boolean(2), row.boolean(3), tally_of(row, 4)});
    }
    for (const Row row : answers[3]) all[row.id<WorkspaceId>(0)].damaged = tally_of(row, 1);
    for (const Row row : answers[4]) all[row.id<WorkspaceId>(0)].oldest = row.time(1);
    return sum_of(std::move(all));
  });
}

}  // namespace restante::postgres
