// Files that come with a message or a task: outgoing files of one workspace, staged for another before the row that
// names them. Belongs to the thread of its transaction.
#pragma once
#include <vector>

#include "store/sql/transaction.h"
#include "store/store.h"

namespace restante {

// Stages each file under its new id, with an inbox row, sharing the blob; or nothing at all. The heads of both
// workspaces are locked. attachment_gone, quota_exceeded.
Result<std::vector<StagedUpload>> stage_copies(SqlTransaction& transaction, WorkspaceId workspace,
                                               const std::vector<OutgoingFile>& files, StagingTerms terms, Time at,
                                               Time now);

}  // namespace restante
