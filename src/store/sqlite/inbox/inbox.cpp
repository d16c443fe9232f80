#include "store/sqlite/inbox/inbox.h"

#include <algorithm>

#include "model/errors.h"

namespace restante::sqlite {

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

}  // namespace restante::sqlite
