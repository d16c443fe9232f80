// Files that come with something: outgoing files of one workspace, staged for another before the row that names them.
// Belongs to the writer's thread.
#pragma once
#include <vector>

#include "store/sqlite/inbox.h"
#include "store/sqlite/upload_rows.h"

namespace restante::sqlite {

// Each under its new id with an inbox row of its own, sharing the bytes; or nothing at all. attachment_gone,
// quota_exceeded.
Result<std::vector<StagedUpload>> stage_copies(Database& database, WorkspaceId workspace, Head& head,
                                               const std::vector<OutgoingFile>& files, StagingTerms terms,
                                               UploadTallies& change, Time now);

}  // namespace restante::sqlite
