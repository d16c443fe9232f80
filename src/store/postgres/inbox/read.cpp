#include "store/postgres/inbox/read.h"

#include <algorithm>

#include "model/errors.h"
#include "store/row_columns.h"

namespace restante::postgres {
namespace {

struct Range {
  std::int64_t after;   // rows above this
  std::int64_t before;  // and below this
};

constexpr std::string_view kFindCursor = "SELECT seq FROM activity_logs WHERE id = $1 AND workspace_id = $2";
constexpr std::string_view kFindSeq = "SELECT 1 FROM activity_logs WHERE seq = $1 AND workspace_id = $2";

// Every parameter is always bound, so that the number of different statements stays small.
std::string select_of(const InboxQuery& query) {
  std::string sql = "SELECT " + kInboxColumns + " FROM activity_logs WHERE workspace_id = $1 AND seq > $2 AND seq < $3";
  // Finds the position of the cursor, in the same round trip that checks that it exists.
  sql += query.since_id ? " AND seq > (SELECT c.seq FROM activity_logs c WHERE c.id = $7 AND c.workspace_id = $1)"
                        : " AND $7::uuid IS NULL";
  if (query.type == "chat_upload_receive") {
    sql += " AND method = $4";
  } else {
    sql += query.type.empty() ? " AND $4 = ''" : " AND activity_type = $4";
  }
  if (query.source == InboxQuery::Source::canvas) sql += " AND source_id IS NULL";
  if (query.source == InboxQuery::Source::agent) sql += " AND source_id IS NOT NULL";
  // The same rule as is_chat().
  if (query.chat_only) {
    sql +=
        " AND source_id IS NULL AND target_id = workspace_id AND (activity_type = 'upload_receipt' OR (activity_type = "
        "'a2a_send' AND method = 'message/send') OR (activity_type = 'a2a_receive' AND method IN ('message/send', "
        "'notify', 'chat_upload_receive')))";
  }
  sql += query.peer ? " AND (source_id = $5 OR target_id = $5)" : " AND $5::uuid IS NULL";
  sql += query.since_id || query.since_seq || query.above_seq ? " ORDER BY seq" : " ORDER BY seq DESC";
  return sql + " LIMIT $6";
}

std::int64_t last_seq(Connection& connection, WorkspaceId workspace) {
  const auto found = connection.query("SELECT last_seq FROM inbox_heads WHERE workspace_id = $1", workspace);
  return found.empty() ? 0 : found.front().integer(0);
}

Range range_of(Connection& connection, WorkspaceId workspace, const InboxQuery& query) {
  const std::int64_t cursor = query.above_seq ? *query.above_seq : query.since_seq.value_or(0);
  Range range{cursor, query.below_seq.value_or(INT64_MAX)};
  if (!query.not_before && !query.before) return range;
  const std::int64_t head = last_seq(connection, workspace);
  if (query.not_before) {
    range.after = std::max(range.after, seq_at(connection, workspace, *query.not_before, head) - 1);
  }
  if (query.before) range.before = std::min(range.before, seq_at(connection, workspace, *query.before, head));
  return range;
}

// Queues the check that the cursor exists, if it names a row. False: it names none.
bool send_cursor_check(Connection& connection, WorkspaceId workspace, const InboxQuery& query) {
  if (query.since_id) {
    connection.send(kFindCursor, *query.since_id, workspace);
    return true;
  }
  if (query.above_seq || query.since_seq.value_or(0) == 0) return false;
  connection.send(kFindSeq, *query.since_seq, workspace);
  return true;
}

}  // namespace

// created_at never decreases along seq, so the row is found by bisection, without an index that every append would pay
// for.
std::int64_t seq_at(Connection& connection, WorkspaceId workspace, Time moment, std::int64_t head) {
  return connection
      .query(
          "WITH RECURSIVE halves (low, high) AS (SELECT 1::bigint, $3 + 1 UNION ALL SELECT CASE WHEN found.created_at "
          "< "
          "$2 THEN found.seq + 1 ELSE low END, CASE WHEN found.created_at < $2 THEN high ELSE middle END FROM (SELECT "
          "low, high, low + (high - low) / 2 AS middle FROM halves WHERE low < high) AS half LEFT JOIN LATERAL (SELECT "
          "seq, created_at FROM activity_logs WHERE workspace_id = $1 AND seq >= middle ORDER BY seq LIMIT 1) AS found "
          "ON true) SELECT low FROM halves WHERE low >= high",
          workspace, moment, head)
      .front()
      .integer(0);
}

Result<std::vector<InboxRow>> read_page(Connection& connection, WorkspaceId workspace, const InboxQuery& query) {
  const Range range = range_of(connection, workspace, query);
  const bool has_cursor = send_cursor_check(connection, workspace, query);
  connection.send(select_of(query), workspace, range.after, range.before, query.type, query.peer,
                  std::max(query.limit, 0), query.since_id);
  const auto answers = connection.sync();
  if (has_cursor && answers.front().empty()) return errors::cursor_gone;
  std::vector<InboxRow> page;
  std::size_t bytes = 0;
  for (const Row row : answers.back()) {
    InboxRow activity = inbox_row_of(row, workspace);
    bytes += activity.request_body.size() + activity.response_body.size();
    if (!page.empty() && bytes > query.max_bytes) break;
    page.push_back(std::move(activity));
  }
  return page;
}

}  // namespace restante::postgres
