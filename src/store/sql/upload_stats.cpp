#include <map>

#include "store/row_columns.h"
#include "store/sql/store.h"

namespace restante {
namespace {

// What is known of the uploads of one workspace.
struct Figures {
  UploadTallies kept;     // the stored counts
  UploadTallies overdue;  // counted there, but past their expiry
  UploadTally damaged;
  std::optional<Time> oldest;
};

// One statement, so that all figures are of one moment. Reads the stored counts; only overdue and damaged rows are
// counted one by one. SQLite would read all rows in the order of their workspaces if it could choose the index.
std::string figures_sql(const SqlDialect& dialect) {
  const std::string all = "count(*), CAST(sum(size_bytes) AS bigint)";
  const auto some = [](const std::string& where) {
    return "count(*) FILTER (" + where + "), CAST(coalesce(sum(size_bytes) FILTER (" + where + "), 0) AS bigint)";
  };
  const std::string kept =
      "SELECT 'kept', workspace_id, CASE WHEN staged_files > acked_files + outgoing_files THEN (SELECT p.created_at "
      "FROM pending_uploads p WHERE p.workspace_id = inbox_heads.workspace_id AND p.acked_at IS NULL AND p.expires_at "
      "> $1 AND p.direction = 'in' ORDER BY p.created_at LIMIT 1) END, " +
      kTallyColumns + " FROM inbox_heads WHERE staged_files > 0 ";
  const std::string overdue = "UNION ALL SELECT 'overdue', workspace_id, NULL, " + all + ", " +
                              some("WHERE direction = 'in' AND failed_at IS NULL AND fetched_at IS NOT NULL") + ", " +
                              some("WHERE direction = 'in' AND failed_at IS NOT NULL") + ", 0, 0, " +
                              some("WHERE direction = 'out'") + " FROM pending_uploads " +
                              dialect.indexed_by("idx_pending_uploads_expires") +
                              "WHERE acked_at IS NULL AND expires_at <= $1 GROUP BY workspace_id ";
  const std::string damaged =
      "UNION ALL SELECT 'damaged', workspace_id, NULL, " + all + ", 0, 0, 0, 0, 0, 0, 0, 0 FROM pending_uploads " +
      dialect.indexed_by("idx_pending_uploads_damaged") + "WHERE damage IS NOT NULL GROUP BY workspace_id";
  return kept + overdue + damaged;
}

void add(UploadTally& to, const UploadTally& more) {
  to.files += more.files;
  to.bytes += more.bytes;
}

void subtract(UploadTally& from, const UploadTally& less) { add(from, {-less.files, -less.bytes}); }

UploadStats stats_of(const UploadTallies& counts) {
  UploadStats stats;
  stats.never_fetched = counts.staged;
  stats.fetched = counts.fetched;
  stats.failed = counts.failed;
  stats.acked = counts.acked;
  stats.outgoing = counts.outgoing;
  for (const auto& other : {counts.fetched, counts.failed, counts.acked, counts.outgoing}) {
    subtract(stats.never_fetched, other);
  }
  return stats;
}

// An overdue upload counts as expired, whatever else it is.
UploadStats stats_of(const Figures& figures) {
  UploadStats stats = stats_of(figures.kept);
  const UploadStats overdue = stats_of(figures.overdue);
  subtract(stats.never_fetched, overdue.never_fetched);
  subtract(stats.fetched, overdue.fetched);
  subtract(stats.failed, overdue.failed);
  subtract(stats.outgoing, overdue.outgoing);
  stats.expired = figures.overdue.staged;
  stats.damaged = figures.damaged;
  stats.oldest = figures.oldest;
  return stats;
}

void sum_up(UploadStats& total, const UploadStats& one) {
  add(total.never_fetched, one.never_fetched);
  add(total.fetched, one.fetched);
  add(total.failed, one.failed);
  add(total.acked, one.acked);
  add(total.expired, one.expired);
  add(total.outgoing, one.outgoing);
  add(total.damaged, one.damaged);
  if (one.oldest && (!total.oldest || *one.oldest < *total.oldest)) total.oldest = one.oldest;
}

}  // namespace

AllUploadStats SqlStore::upload_stats(Time now) {
  if (!uploads_ready()) return {};
  return read([&](SqlReader& reader) {
    std::map<WorkspaceId, Figures> all;
    const auto collect = [&](const SqlRow& row) {
      Figures& figures = all[row.id<WorkspaceId>(1)];
      const UploadTallies counts = tallies_of(row, 3);
      if (row.view(0) == "kept") {
        figures.kept = counts;
        figures.oldest = row.optional_time(2);
      } else if (row.view(0) == "overdue") {
        figures.overdue = counts;
      } else {
        figures.damaged = counts.staged;
      }
      return true;
    };
    reader.each(collect, figures_sql(reader.dialect()), now);
    AllUploadStats stats;
    for (const auto& [workspace, figures] : all) {
      stats.workspaces.emplace_back(workspace, stats_of(figures));
      sum_up(stats.total, stats.workspaces.back().second);
    }
    return stats;
  });
}

}  // namespace restante
