// Parts of reading a page of an inbox, for read_inbox() of SqlStore, and of PostgreSQL, which checks the cursor and
// reads the page in one round trip. Belongs to the thread of its reader. Throws Unavailable.
#pragma once
#include <string>
#include <vector>

#include "model/inbox_row.h"
#include "store/sql/reader.h"

namespace restante {

// What a cursor names. Parameters: the cursor, the workspace.
inline constexpr std::string_view kFindCursor = "SELECT seq FROM activity_logs WHERE id = $1 AND workspace_id = $2";
inline constexpr std::string_view kFindSeq = "SELECT 1 FROM activity_logs WHERE seq = $1 AND workspace_id = $2";

// The number after which the answer begins; 0 when there is none, or when the cursor is an id.
std::int64_t numbered_cursor(const InboxQuery& query);
// Whether that number must be the one of a row.
bool names_a_row(const InboxQuery& query);

struct SeqRange {
  std::int64_t after;   // rows above this
  std::int64_t before;  // and below this
};
// A query with times needs a statement for each.
SeqRange range_of(SqlReader& reader, WorkspaceId workspace, const InboxQuery& query, std::int64_t cursor);

// Parameters: the workspace, the range, the type, the peer, the limit. Every one is always bound, so that the number of
// different statements stays small. `cursor_condition` is one condition more, which begins with " AND ".
std::string select_page(const InboxQuery& query, std::string_view cursor_condition = {});

// The next rows that a search looks at, whether they match or not. `most` is the number of the parameter that limits
// them; the others are those of select_page().
std::string select_window(const InboxQuery& query, std::string_view most, std::string_view cursor_condition = {});
// The first and the last of them, and how many there are; step_of() makes a step of that, without its rows. Runs before
// the page is read: every row between the two can be read by then.
std::string select_window_size(const InboxQuery& query, std::string_view most, std::string_view cursor_condition = {});
InboxStep step_of(const SqlRow& window, const InboxQuery& query, SeqRange range, int most);

// The rows of a page, until it has enough bytes.
class InboxPage {
 public:
  InboxPage(WorkspaceId workspace, const InboxQuery& query) : workspace_(workspace), max_bytes_(query.max_bytes) {}

  // False when the page is full.
  bool add(const SqlRow& row);

  std::vector<InboxRow> rows;

 private:
  const WorkspaceId workspace_;
  const std::size_t max_bytes_;
  std::size_t bytes_ = 0;
};

}  // namespace restante
