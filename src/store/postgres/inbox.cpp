#include <algorithm>

#include "model/errors.h"
#include "store/postgres/shared_store.h"
#include "store/sql/inbox.h"

namespace restante::postgres {
namespace {

// Queues the check that the cursor exists, if it names a row. False: it names none.
bool send_cursor_check(Connection& connection, WorkspaceId workspace, const InboxQuery& query) {
  if (query.since_id) {
    connection.send(kFindCursor, *query.since_id, workspace);
    return true;
  }
  if (!names_a_row(query)) return false;
  connection.send(kFindSeq, *query.since_seq, workspace);
  return true;
}

// Finds the position of the cursor, in the same round trip that checks that it exists.
constexpr std::string_view kAfterCursor =
    " AND seq > (SELECT c.seq FROM activity_logs c WHERE c.id = $7 AND c.workspace_id = $1)";
constexpr std::string_view kNoCursor = " AND $7 IS NULL";

// One round trip, unless the query has times.
Result<std::vector<InboxRow>> read_page(Connection& connection, WorkspaceId workspace, const InboxQuery& query) {
  const SeqRange range = range_of(connection, workspace, query, numbered_cursor(query));
  const bool has_cursor = send_cursor_check(connection, workspace, query);
  const auto sql = select_page(query, query.since_id ? kAfterCursor : kNoCursor);
  connection.send(sql, workspace, range.after, range.before, query.type, query.peer, std::max(query.limit, 0),
                  query.since_id);
  const auto answers = connection.sync();
  if (has_cursor && answers.front().empty()) return errors::cursor_gone;
  InboxPage page(workspace, query);
  for (const Row row : answers.back()) {
    if (!page.add(row)) break;
  }
  return std::move(page.rows);
}

// One round trip, as read_page(); two from the newest row.
Result<InboxStep> search_step(Connection& connection, WorkspaceId workspace, const InboxQuery& query, int most) {
  SeqRange range = range_of(connection, workspace, query, numbered_cursor(query));
  const bool ascends = query.ascends();
  if (!ascends && !query.below_seq) {
    // Both statements must look at the same rows: those that are appended in between would move the second window.
    const auto head = connection.query("SELECT last_seq FROM inbox_heads WHERE workspace_id = $1", workspace);
    if (head.empty()) return InboxStep{};
    range.before = std::min(range.before, head.front().integer(0) + 1);
  }
  const bool has_cursor = send_cursor_check(connection, workspace, query);
  const std::string_view cursor = query.since_id ? kAfterCursor : kNoCursor;
  std::string of_end(query.since_id ? " AND seq > (SELECT c.seq FROM activity_logs c WHERE c.id = $5 AND "
                                      "c.workspace_id = $1)"
                                    : " AND $5 IS NULL");
  connection.send(select_window_size(query, "$4", of_end), workspace, range.after, range.before, most, query.since_id);
  std::string inside(cursor);
  inside += ascends ? " AND seq <= (SELECT max(w.seq) FROM (" : " AND seq >= (SELECT min(w.seq) FROM (";
  inside += select_window(query, "$8", cursor) + ") AS w)";
  connection.send(select_page(query, inside), workspace, range.after, range.before, query.type, query.peer,
                  std::max(query.limit, 0), query.since_id, most);
  const auto answers = connection.sync();
  if (has_cursor && answers.front().empty()) return errors::cursor_gone;
  if (query.since_id) range.after = std::max(range.after, answers.front().front().integer(0));
  InboxStep step = step_of(answers[answers.size() - 2].front(), query, range, most);
  if (!step.to) return step;
  InboxPage page(workspace, query);
  for (const Row row : answers.back()) {
    if (!page.add(row)) break;
  }
  step.rows = std::move(page.rows);
  return step;
}

}  // namespace

Result<InboxStep> SharedStore::search_inbox(WorkspaceId workspace, const InboxQuery& query, int most) {
  return read_cache_.search(workspace, query, [&] {
    return pool_.use([&](Connection& connection) { return search_step(connection, workspace, query, most); });
  });
}

Result<std::vector<InboxRow>> SharedStore::read_inbox(WorkspaceId workspace, const InboxQuery& query) {
  return read_cache_.read_page(workspace, query, [&] {
    return pool_.use([&](Connection& connection) { return read_page(connection, workspace, query); });
  });
}

}  // namespace restante::postgres
