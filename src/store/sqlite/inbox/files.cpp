#include "store/sqlite/inbox/files.h"

#include "store/sql/message_files.h"
#include "store/sqlite/database/transaction.h"

namespace restante::sqlite {

Result<std::vector<StagedUpload>> stage_copies(Database& database, WorkspaceId workspace, Head& head,
                                               const std::vector<OutgoingFile>& files, StagingTerms terms,
                                               UploadTallies& /*change*/, Time now) {
  Transaction transaction(database);
  auto staged = restante::stage_copies(transaction, workspace, files, terms, head.created_at, now);
  if (!staged) return staged;
  transaction.flush();
  head.seq += std::ssize(*staged);
  return staged;
}

}  // namespace restante::sqlite
