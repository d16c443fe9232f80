#include "store/sql/store.h"

#include "model/errors.h"

namespace restante {
namespace {

Result<std::vector<Upload>> find_sources(SqlTransaction& transaction, const std::vector<OutgoingFile>& files,
                                         Time expiry) {
  std::vector<Upload> sources;
  for (const auto& file : files) {
    const Upload* source = transaction.upload(file.source);
    const bool owned = source && source->workspace_id == file.owner;
    const auto usable = require_source(file, owned ? source : nullptr, expiry);
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

Result<SentMessage> send(SqlTransaction& transaction, WorkspaceId workspace, const Message& message,
                         const std::vector<OutgoingFile>& files, const StagingTerms& terms, Time now) {
  const auto head = transaction.find_living_head(workspace);
  if (!head) return head.error();
  if (const auto repeated = transaction.find_repeated(workspace, message)) return SentMessage{*repeated, {}};
  const Time at = SqlTransaction::next_time(**head, now);
  auto staged = stage_copies(transaction, workspace, files, terms, at, now);
  if (!staged) return staged.error();
  SentMessage sent;
  sent.files = std::move(*staged);
  sent.row = transaction.append_message(workspace, at, message);
  return sent;
}

}  // namespace

Result<std::vector<StagedUpload>> stage_copies(SqlTransaction& transaction, WorkspaceId workspace,
                                               const std::vector<OutgoingFile>& files, StagingTerms terms, Time at,
                                               Time now) {
  terms.direction = UploadDirection::in;
  const auto sources = find_sources(transaction, files, terms.expiry.value_or(now));
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

Commit<Result<SentMessage>> SqlStore::append_to_inbox_with_files(WorkspaceId workspace, const NewInboxRow& activity,
                                                                 std::vector<OutgoingFile> files,
                                                                 const StagingTerms& terms, Time now,
                                                                 OptionalClaim<SentMessage> claim) {
  if (!uploads_ready() && !files.empty()) return Commit<Result<SentMessage>>::ready(errors::attachment_gone);
  Message message(activity, workspace, files, now);
  WriteHints hints = hints_for(workspace);
  hints.claim = scope_of(claim);
  if (message.digest) hints.message.emplace(workspace, *message.digest);
  // The owners' heads, too: a file must not be deleted while it is copied.
  for (const auto& file : files) {
    hints.heads.push_back(file.owner);
    hints.uploads.push_back(file.source);
  }
  const std::size_t bytes = message.bytes() + files.size() * 1024;
  return write(std::move(hints), bytes,
               under_claim(std::move(claim), now,
                           [workspace, message = std::move(message), files = std::move(files), terms,
                            now](SqlTransaction& transaction) {
                             return send(transaction, workspace, message, files, terms, now);
                           }));
}

}  // namespace restante
