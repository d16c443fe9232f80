// Functions that append to an inbox inside the writer's transaction. A verb takes the head, appends as often as needed,
// and puts the head back. For the writer's thread.
#pragma once
#include <optional>

#include "model/message.h"
#include "store/sqlite/database/database.h"
#include "store/store.h"

namespace restante::sqlite {

struct Head {
  std::int64_t seq = 0;
  Time created_at;      // of the next row: the clock's, or the last row's if the clock went back
  UploadTally unacked;  // of uploads in both directions, as it was when the head was taken
};

// Also of a removed workspace: its head is never deleted.
Head take_head(Database& database, WorkspaceId workspace, Time now);
// workspace_not_found, workspace_removed: for rows that a removed workspace must not get.
Result<Head> take_living_head(Database& database, WorkspaceId workspace, Time now);
Appended append_row(Database& database, WorkspaceId workspace, Head& head, InboxRowId id, const NewInboxRow& row);
void put_head(Database& database, WorkspaceId workspace, const Head& head);

// The position of the same message, if it was appended before and its row has not been pruned.
std::optional<Appended> find_repeated(Database& database, WorkspaceId workspace, const Message& message);
Appended append_message(Database& database, WorkspaceId workspace, Head& head, const Message& message);

}  // namespace restante::sqlite
