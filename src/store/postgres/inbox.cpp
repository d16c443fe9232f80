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

// One round trip, unless the query has times.
Result<std::vector<InboxRow>> read_page(Connection& connection, WorkspaceId workspace, const InboxQuery& query) {
  const SeqRange range = range_of(connection, workspace, query, numbered_cursor(query));
  const bool has_cursor = send_cursor_check(connection, workspace, query);
  // Finds the position of the cursor, in the same round trip that checks that it exists.
  const auto sql = select_page(
      query, query.since_id ? " AND seq > (SELECT c.seq FROM activity_logs c WHERE c.id = $7 AND c.workspace_id = $1)"
                            : " AND $7 IS NULL");
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

}  // namespace

Result<std::vector<InboxRow>> SharedStore::read_inbox(WorkspaceId workspace, const InboxQuery& query) {
  return read_cache_.read_page(workspace, query, [&] {
    return pool_.use([&](Connection& connection) { return read_page(connection, workspace, query); });
  });
}

}  // namespace restante::postgres
