#include "store/sqlite/inbox/inbox.h"

#include <algorithm>

#include "model/errors.h"
#include "store/row_columns.h"
#include "store/sqlite/embedded_store.h"
#include "store/sqlite/workspaces/claims.h"

namespace restante::sqlite {
namespace {

struct Range {
  std::int64_t after;   // rows above this
  std::int64_t before;  // and below this
};

std::int64_t last_seq(Database& database, WorkspaceId workspace) {
  Statement row = database.query("SELECT last_seq FROM inbox_heads WHERE workspace_id = ?", workspace);
  return row.step() ? row.integer(0) : 0;
}

// The first row at or after a moment. created_at never decreases with growing seq, so a binary search finds it, without
// an index that every append would have to update.
std::int64_t seq_at(Database& database, WorkspaceId workspace, Time moment, std::int64_t head) {
  std::int64_t low = 1;
  std::int64_t high = head + 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    Statement row = database.query(
        "SELECT seq, created_at FROM activity_logs WHERE workspace_id = ?1 AND seq >= ?2 ORDER BY seq LIMIT 1",
        workspace, middle);
    if (!row.step() || row.time(1) >= moment) {
      high = middle;
    } else {
      low = row.integer(0) + 1;
    }
  }
  return low;
}

bool has_row(Database& database, WorkspaceId workspace, std::int64_t seq) {
  return database.query("SELECT 1 FROM activity_logs WHERE workspace_id = ?1 AND seq = ?2", workspace, seq).step();
}

// The seq after which the answer begins; 0 when there is no cursor.
Result<std::int64_t> cursor_of(Database& database, WorkspaceId workspace, const InboxQuery& query) {
  if (query.since_id) {
    Statement row =
        database.query("SELECT seq FROM activity_logs WHERE id = ?1 AND workspace_id = ?2", *query.since_id, workspace);
    if (!row.step()) return errors::cursor_gone;
    return row.integer(0);
  }
  if (query.above_seq) return *query.above_seq;
  const std::int64_t seq = query.since_seq.value_or(0);
  if (seq != 0 && !has_row(database, workspace, seq)) return errors::cursor_gone;
  return seq;
}

Result<Range> range_of(Database& database, WorkspaceId workspace, const InboxQuery& query) {
  const auto cursor = cursor_of(database, workspace, query);
  if (!cursor) return cursor.error();
  Range range{*cursor, query.below_seq.value_or(INT64_MAX)};
  if (!query.not_before && !query.before) return range;
  const std::int64_t head = last_seq(database, workspace);
  if (query.not_before) range.after = std::max(range.after, seq_at(database, workspace, *query.not_before, head) - 1);
  if (query.before) range.before = std::min(range.before, seq_at(database, workspace, *query.before, head));
  return range;
}

// Every parameter is always bound, so that the number of different statements stays small.
std::string select_of(const InboxQuery& query) {
  std::string sql = "SELECT " + kInboxColumns + " FROM activity_logs WHERE workspace_id = ?1 AND seq > ?2 AND seq < ?3";
  if (query.type == "chat_upload_receive") {
    sql += " AND method = ?4";
  } else {
    sql += query.type.empty() ? " AND ?4 = ''" : " AND activity_type = ?4";
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
  sql += query.peer ? " AND (source_id = ?5 OR target_id = ?5)" : " AND ?5 IS NULL";
  sql += query.since_id || query.since_seq || query.above_seq ? " ORDER BY seq" : " ORDER BY seq DESC";
  return sql + " LIMIT ?6";
}

Result<Appended> append(Database& database, WorkspaceId workspace, const Message& message, Time now) {
  auto head = take_living_head(database, workspace, now);
  if (!head) return head.error();
  if (const auto repeated = find_repeated(database, workspace, message)) return *repeated;
  const auto appended = append_message(database, workspace, *head, message);
  put_head(database, workspace, *head);
  return appended;
}

}  // namespace

Head take_head(Database& database, WorkspaceId workspace, Time now) {
  Statement row = database.query(
      "SELECT last_seq, last_created_at, staged_files - acked_files, staged_bytes - acked_bytes FROM inbox_heads "
      "WHERE workspace_id = ?",
      workspace);
  if (!row.step()) throw Unavailable("a workspace without its inbox");
  return {row.integer(0), std::max(now, row.time(1)), {row.integer(2), row.integer(3)}};
}

Result<Head> take_living_head(Database& database, WorkspaceId workspace, Time now) {
  Statement row = database.query(
      "SELECT h.last_seq, h.last_created_at, h.staged_files - h.acked_files, h.staged_bytes - h.acked_bytes, "
      "w.status = 'removed' FROM workspaces w JOIN inbox_heads h ON h.workspace_id = w.id WHERE w.id = ?",
      workspace);
  if (!row.step()) return errors::workspace_not_found;
  if (row.integer(4) != 0) return errors::workspace_removed;
  return Head{row.integer(0), std::max(now, row.time(1)), {row.integer(2), row.integer(3)}};
}

Appended append_row(Database& database, WorkspaceId workspace, Head& head, InboxRowId id, const NewInboxRow& row) {
  database.run(
      "INSERT INTO activity_logs (id, workspace_id, seq, activity_type, source_id, target_id, method, summary, "
      "request_body, response_body, status, error_detail, duration_ms, created_at, message_id, traceparent) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      id, workspace, ++head.seq, row.activity_type, row.source_id, row.target_id, row.method, row.summary,
      or_null(row.request_body), or_null(row.response_body), row.status, or_null(row.error_detail), row.duration_ms,
      head.created_at, or_null(row.message_id), or_null(row.traceparent));
  return {id, head.seq, false};
}

void put_head(Database& database, WorkspaceId workspace, const Head& head) {
  database.run("UPDATE inbox_heads SET last_seq = ?, last_created_at = ? WHERE workspace_id = ?", head.seq,
               head.created_at, workspace);
}

std::optional<Appended> find_repeated(Database& database, WorkspaceId workspace, const Message& message) {
  if (!message.digest) return std::nullopt;
  // The join ignores a key whose row has been pruned.
  Statement row = database.query(
      "SELECT a.id, a.seq FROM message_keys k JOIN activity_logs a ON a.workspace_id = k.workspace_id AND a.seq = "
      "k.seq WHERE k.workspace_id = ?1 AND k.digest = ?2",
      workspace, *message.digest);
  if (!row.step()) return std::nullopt;
  return Appended{row.id<InboxRowId>(0), row.integer(1), true};
}

Appended append_message(Database& database, WorkspaceId workspace, Head& head, const Message& message) {
  const auto appended = append_row(database, workspace, head, message.id, message.activity);
  if (message.digest) {
    database.run("INSERT OR REPLACE INTO message_keys (workspace_id, digest, seq, created_at) VALUES (?, ?, ?, ?)",
                 workspace, *message.digest, head.seq, head.created_at);
  }
  return appended;
}

Commit<Result<Appended>> EmbeddedStore::append_to_inbox(WorkspaceId workspace, const NewInboxRow& row, Time now,
                                                        OptionalClaim<Appended> claim) {
  Message message(row, workspace, {}, now);
  const std::size_t bytes = message.bytes();
  return writer_.submit(
      bytes, under_claim(std::move(claim), now, [message = std::move(message), workspace, now](Database& database) {
        return append(database, workspace, message, now);
      }));
}

Commit<Result<std::int64_t>> EmbeddedStore::ack_inbox(WorkspaceId workspace, std::int64_t seq) {
  return writer_.submit(sizeof seq, [workspace, seq](Database& database) -> Result<std::int64_t> {
    database.run(
        "UPDATE inbox_heads SET acked_seq = max(acked_seq, min(?1, last_seq)) WHERE workspace_id = ?2 AND acked_seq < "
        "?1",
        seq, workspace);
    Statement row = database.query("SELECT acked_seq FROM inbox_heads WHERE workspace_id = ?", workspace);
    if (!row.step()) return errors::workspace_not_found;
    return row.integer(0);
  });
}

Result<InboxHead> EmbeddedStore::find_head(WorkspaceId workspace) {
  auto reader = readers_.take();
  Statement row =
      reader->query("SELECT last_seq, acked_seq, last_created_at FROM inbox_heads WHERE workspace_id = ?", workspace);
  if (!row.step()) return errors::workspace_not_found;
  return InboxHead{row.integer(0), row.integer(1), row.time(2)};
}

Result<std::vector<InboxRow>> EmbeddedStore::read_inbox(WorkspaceId workspace, const InboxQuery& query) {
  auto reader = readers_.take();
  const auto range = range_of(*reader, workspace, query);
  if (!range) return range.error();
  Statement row = reader->query(select_of(query), workspace, range->after, range->before, query.type, query.peer,
                                std::max(query.limit, 0));
  std::vector<InboxRow> page;
  std::size_t bytes = 0;
  while (row.step()) {
    InboxRow found = inbox_row_of(row, workspace);
    bytes += found.request_body.size() + found.response_body.size();
    if (!page.empty() && bytes > query.max_bytes) break;
    page.push_back(std::move(found));
  }
  return page;
}

}  // namespace restante::sqlite
