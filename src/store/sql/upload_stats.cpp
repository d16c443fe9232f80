#include <algorithm>
#include <cstdint>
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

const std::string kAllRows = "count(*), CAST(coalesce(sum(size_bytes), 0) AS bigint)";

std::string some_rows(const std::string& where) {
  return "count(*) FILTER (" + where + "), CAST(coalesce(sum(size_bytes) FILTER (" + where + "), 0) AS bigint)";
}

// The columns of kTallyColumns, of rows past their expiry. SQLite would read all rows in the order of their workspaces
// if it could choose the index.
std::string overdue_sql(const SqlDialect& dialect) {
  return kAllRows + ", " + some_rows("WHERE direction = 'in' AND failed_at IS NULL AND fetched_at IS NOT NULL") + ", " +
         some_rows("WHERE direction = 'in' AND failed_at IS NOT NULL") + ", 0, 0, " +
         some_rows("WHERE direction = 'out'") + " FROM pending_uploads " +
         dialect.indexed_by("idx_pending_uploads_expires") + "WHERE acked_at IS NULL AND expires_at <= $1 ";
}

std::string damaged_sql(const SqlDialect& dialect) {
  return kAllRows + ", 0, 0, 0, 0, 0, 0, 0, 0 FROM pending_uploads " +
         dialect.indexed_by("idx_pending_uploads_damaged") + "WHERE damage IS NOT NULL ";
}

// One statement, so that all figures are of one moment. Reads the stored counts; only overdue and damaged rows are
// counted one by one.
std::string totals_sql(const SqlDialect& dialect) {
  std::string sums;
  for (const char* column : {"staged_files", "staged_bytes", "fetched_files", "fetched_bytes", "failed_files",
                             "failed_bytes", "acked_files", "acked_bytes", "outgoing_files", "outgoing_bytes"}) {
    sums += std::string(", CAST(sum(") + column + ") AS bigint)";
  }
  return "SELECT 'kept', NULL, (SELECT p.created_at FROM pending_uploads p " +
         dialect.indexed_by("idx_pending_uploads_oldest") +
         "WHERE p.acked_at IS NULL AND p.direction = 'in' AND p.expires_at > $1 ORDER BY p.created_at LIMIT 1)" + sums +
         " FROM upload_totals UNION ALL SELECT 'overdue', NULL, NULL, " + overdue_sql(dialect) +
         "UNION ALL SELECT 'damaged', NULL, NULL, " + damaged_sql(dialect);
}

// The same for each workspace of a page. Parameters: the time, and the page's. The last looked-at one is a row, too.
std::string page_sql(const SqlDialect& dialect, const UploadStatsPage& page) {
  const std::string of_page = "AND workspace_id IN (SELECT workspace_id FROM page) GROUP BY workspace_id ";
  return "WITH page AS (SELECT * FROM inbox_heads WHERE workspace_id " + std::string(page.only ? "=" : ">") +
         " $2 ORDER BY workspace_id LIMIT $3) SELECT 'kept', workspace_id, CASE WHEN staged_files > acked_files + "
         "outgoing_files THEN (SELECT p.created_at FROM pending_uploads p WHERE p.workspace_id = page.workspace_id AND "
         "p.acked_at IS NULL AND p.expires_at > $1 AND p.direction = 'in' ORDER BY p.created_at LIMIT 1) END, " +
         kTallyColumns + " FROM page WHERE staged_files > 0 UNION ALL SELECT 'overdue', workspace_id, NULL, " +
         overdue_sql(dialect) + of_page + "UNION ALL SELECT 'damaged', workspace_id, NULL, " + damaged_sql(dialect) +
         of_page +
         "UNION ALL SELECT 'page', (SELECT workspace_id FROM page ORDER BY workspace_id DESC LIMIT 1), NULL, " +
         "(SELECT count(*) FROM page), 0, 0, 0, 0, 0, 0, 0, 0, 0";
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

void collect(Figures& figures, const SqlRow& row) {
  const UploadTallies counts = tallies_of(row, 3);
  if (row.view(0) == "kept") {
    figures.kept = counts;
    figures.oldest = row.optional_time(2);
  } else if (row.view(0) == "overdue") {
    figures.overdue = counts;
  } else {
    figures.damaged = counts.staged;
  }
}

UploadStats read_total(SqlReader& reader, Time now) {
  Figures total;
  const auto visit = [&](const SqlRow& row) {
    collect(total, row);
    return true;
  };
  reader.each(visit, totals_sql(reader.dialect()), now);
  return stats_of(total);
}

void read_page(SqlReader& reader, Time now, const UploadStatsPage& page, AllUploadStats& stats) {
  const std::int64_t limit = page.limit ? std::max(*page.limit, 0) : INT64_MAX;
  std::map<WorkspaceId, Figures> all;
  const auto visit = [&](const SqlRow& row) {
    if (row.view(0) != "page") {
      collect(all[row.id<WorkspaceId>(1)], row);
    } else if (row.integer(3) == limit) {
      stats.next = row.optional_id<WorkspaceId>(1);
    }
    return true;
  };
  const WorkspaceId from = page.only ? *page.only : page.after.value_or(WorkspaceId());
  reader.each(visit, page_sql(reader.dialect(), page), now, from, limit);
  for (const auto& [workspace, figures] : all) stats.workspaces.emplace_back(workspace, stats_of(figures));
}

}  // namespace

AllUploadStats SqlStore::upload_stats(Time now, const UploadStatsPage& page) {
  if (!uploads_ready()) return {};
  return read([&](SqlReader& reader) {
    AllUploadStats stats;
    if (page.limit != 0) read_page(reader, now, page, stats);
    if (!page.only) {
      stats.total = read_total(reader, now);
    } else if (!stats.workspaces.empty()) {
      stats.total = stats.workspaces.front().second;
    }
    return stats;
  });
}

}  // namespace restante
