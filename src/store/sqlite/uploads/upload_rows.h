// Functions on the rows of uploads, for verbs of other nouns. They run on the writer's thread.
#pragma once
#include "model/upload_rules.h"
#include "store/sqlite/database/database.h"
#include "store/sqlite/inbox/inbox.h"
#include "store/store.h"

namespace restante::sqlite {

// put_head() that also adds `change` to the counts of uploads.
void put_head(Database& database, WorkspaceId workspace, const Head& head, const UploadTallies& change);

// Lists the blob as dropped if no row names it. Does nothing for an empty key.
void drop_unless_needed(Database& database, std::string_view key, Time now);
// Deletes the status of at most `limit` uploads that ended before `before`, oldest first. Returns how many.
std::int64_t prune_finished_uploads(Database& database, Time before, std::int64_t limit);

}  // namespace restante::sqlite
