// Stages outgoing files of one workspace for another one, before the inbox row that names them. For the writer's
// thread.
#pragma once
#include <vector>

#include "store/sqlite/inbox/inbox.h"
#include "store/sqlite/uploads/upload_rows.h"

namespace restante::sqlite {

// Stages each file under its new id with its own inbox row; the copies share the blob. All of them or none.
// attachment_gone, quota_exceeded.
Result<std::vector<StagedUpload>> stage_copies(Database& database, WorkspaceId workspace, Head& head,
                                               const std::vector<OutgoingFile>& files, StagingTerms terms,
                                               UploadTallies& change, Time now);

}  // namespace restante::sqlite
