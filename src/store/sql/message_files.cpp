#include "store/sql/message_files.h"

#include "model/errors.h"
#include "store/sql/store.h"

namespace restante {
namespace {

Result<std::vector<Upload>> find_sources(SqlTransaction& transaction, const std::vector<OutgoingFile>& files,
                                         Time now) {
  std::vector<Upload> sources;
  for (const auto& file : files) {
    const Upload* source = transaction.upload(file.source);
    const bool owned = source && source->workspace_id == file.owner;
    const auto usable = require_source(file, owned ? source : nullptr, now);
    if (!usable) return usable.error();
    sources.push_back(*source);
  }
  return sources;
}

StagedUpload stage_copy(SqlTransaction& transaction, WorkspaceId workspace, const Upload& source,
                        const OutgoingFile& file, const StagingTerms& terms, Time at, Time now) {
  NewUpload copy = static_cast<const NewUpload&>(source);
  copy.id = file.id;
  copy.source_id = file.sender();
  NewUploadRow row(workspace, std::move(copy), terms, now);
  row.upload.created_at = at;
  // Small content is copied: that costs less than counting the rows that share it.
  transaction.insert_copy(row.upload, source);
  transaction.tallies(workspace).add(row.upload);
  const auto activity = transaction.append(workspace, at, row.activity_id, row.arrival);
  return {std::move(row.upload), activity};
}

}  // namespace

Result<std::vector<StagedUpload>> stage_copies(SqlTransaction& transaction, WorkspaceId workspace,
                                               const std::vector<OutgoingFile>& files, StagingTerms terms, Time at,
                                               Time now) {
  terms.direction = UploadDirection::in;
  const auto sources = find_sources(transaction, files, now);
  if (!sources) return sources.error();
  UploadTally more;
  for (const auto& source : *sources) more.files += 1, more.bytes += source.size;
  const auto fits = require_quota(transaction.head(workspace)->uploads.unacked(), terms.quota, more);
  if (!fits) return fits.error();
  std::vector<StagedUpload> staged;
  for (std::size_t i = 0; i < sources->size(); ++i) {
    staged.push_back(stage_copy(transaction, workspace, (*sources)[i], files[i], terms, at, now));
  }
  return staged;
}

}  // namespace restante
