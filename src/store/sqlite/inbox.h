// Appending to an inbox inside the writer's transaction, for every verb that leaves a row in the log. Take the head,
// append as often as needed, put the head back. Belongs to the writer's thread.
#pragma once
#include "model/activity.h"
#include "store/sqlite/database.h"

namespace restante::sqlite {

struct Head {
  std::int64_t seq = 0;
  Time created_at;  // of the next row: the clock's, or the last row's if the clock went back
  std::int64_t staged_bytes = 0;
  std::int64_t staged_files = 0;
};

// workspace_not_found.
Result<Head> take_head(Database& database, WorkspaceId workspace, Time now);
// And workspace_removed: for what may not be added any more.
Result<Head> take_living_head(Database& database, WorkspaceId workspace, Time now);
void append_row(Database& database, WorkspaceId workspace, Head& head, ActivityId id, const NewActivity& activity);
void put_head(Database& database, WorkspaceId workspace, const Head& head);

}  // namespace restante::sqlite
