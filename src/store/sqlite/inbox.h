// Appending to an inbox inside the writer's transaction, for every verb that leaves a row in the log. Take the head,
// append as often as needed, put the head back. Belongs to the writer's thread.
#pragma once
#include <optional>
#include <span>

#include "store/sqlite/database.h"
#include "store/store.h"

namespace restante::sqlite {

struct Head {
  std::int64_t seq = 0;
  Time created_at;     // of the next row: the clock's, or the last row's if the clock went back
  UploadTally staged;  // as it was when the head was taken
};

// workspace_not_found.
Result<Head> take_head(Database& database, WorkspaceId workspace, Time now);
// And workspace_removed: for what may not be added any more.
Result<Head> take_living_head(Database& database, WorkspaceId workspace, Time now);
Appended append_row(Database& database, WorkspaceId workspace, Head& head, ActivityId id, const NewActivity& activity);
void put_head(Database& database, WorkspaceId workspace, const Head& head);

// A row to append, with what can be computed before the writer's turn.
struct Message {
  // Of a message that names files, a repeat is told by what it named before they were given new ids.
  Message(const NewActivity& new_activity, WorkspaceId workspace, std::span<const OutgoingFile> files, Time now);
  std::size_t bytes() const { return activity.request_body.size() + activity.response_body.size(); }

  NewActivity activity;
  ActivityId id;
  std::optional<Digest> digest;  // none when it carries no message id
};

// Where it is, if it was appended before and its row has not been pruned.
std::optional<Appended> find_repeated(Database& database, WorkspaceId workspace, const Message& message);
Appended append_message(Database& database, WorkspaceId workspace, Head& head, const Message& message);

}  // namespace restante::sqlite
