#include "store/sqlite/inbox/files.h"

#include "model/errors.h"
#include "store/sqlite/embedded_store.h"
#include "store/sqlite/workspaces/claims.h"

namespace restante::sqlite {
namespace {

// A message and the files it names, prepared before the writer runs.
struct MessageWithFiles {
  WorkspaceId workspace;
  Message message;
  std::vector<OutgoingFile> files;
  StagingTerms terms;
};

MessageWithFiles message_with_files(WorkspaceId workspace, const NewInboxRow& row, std::vector<OutgoingFile> files,
                                    StagingTerms terms, Time now) {
  terms.direction = UploadDirection::in;
  Message message(row, workspace, files, now);
  return {workspace, std::move(message), std::move(files), terms};
}

std::size_t bytes_of(const MessageWithFiles& outgoing) {
  return outgoing.message.bytes() + outgoing.files.size() * 1024;
}

Result<std::vector<UploadRow>> find_sources(Database& database, const std::vector<OutgoingFile>& files, Time now) {
  std::vector<UploadRow> sources;
  for (const auto& file : files) {
    auto source = find_upload_row(database, file.owner, file.source);
    const auto usable = require_source(file, source ? &source->upload : nullptr, now);
    if (!usable) return usable.error();
    sources.push_back(std::move(*source));
  }
  return sources;
}

StagedUpload stage_copy(Database& database, WorkspaceId workspace, Head& head, const UploadRow& source,
                        const OutgoingFile& file, const StagingTerms& terms, UploadTallies& change, Time now) {
  NewUpload copy = static_cast<const NewUpload&>(source.upload);
  copy.id = file.id;
  copy.source_id = file.sender();
  // Small content is copied: that costs less than counting the rows that share it.
  const auto content_row = copy_content(database, source.content_row);
  const NewUploadRow row(workspace, std::move(copy), terms, now);
  return stage_row(database, head, row, content_row, change);
}

Result<SentMessage> send(Database& database, const MessageWithFiles& outgoing, Time now) {
  auto head = take_living_head(database, outgoing.workspace, now);
  if (!head) return head.error();
  if (const auto repeated = find_repeated(database, outgoing.workspace, outgoing.message)) {
    return SentMessage{*repeated, {}};
  }
  UploadTallies change;
  auto files = stage_copies(database, outgoing.workspace, *head, outgoing.files, outgoing.terms, change, now);
  if (!files) return files.error();
  SentMessage sent;
  sent.files = std::move(*files);
  sent.row = append_message(database, outgoing.workspace, *head, outgoing.message);
  put_head(database, outgoing.workspace, *head, change);
  return sent;
}

}  // namespace

Result<std::vector<StagedUpload>> stage_copies(Database& database, WorkspaceId workspace, Head& head,
                                               const std::vector<OutgoingFile>& files, StagingTerms terms,
                                               UploadTallies& change, Time now) {
  terms.direction = UploadDirection::in;
  const auto sources = find_sources(database, files, now);
  if (!sources) return sources.error();
  UploadTally more;
  for (const auto& source : *sources) more.files += 1, more.bytes += source.upload.size;
  if (const auto fits = require_quota(head.unacked, terms.quota, more); !fits) return fits.error();
  std::vector<StagedUpload> staged;
  for (std::size_t i = 0; i < sources->size(); ++i) {
    staged.push_back(stage_copy(database, workspace, head, (*sources)[i], files[i], terms, change, now));
  }
  return staged;
}

Commit<Result<SentMessage>> EmbeddedStore::append_to_inbox_with_files(WorkspaceId workspace, const NewInboxRow& row,
                                                                      std::vector<OutgoingFile> files,
                                                                      const StagingTerms& terms, Time now,
                                                                      OptionalClaim<SentMessage> claim) {
  if (!uploads_ready_ && !files.empty()) return Commit<Result<SentMessage>>::ready(errors::attachment_gone);
  MessageWithFiles outgoing = message_with_files(workspace, row, std::move(files), terms, now);
  const std::size_t bytes = bytes_of(outgoing);
  return writer_.submit(bytes,
                        under_claim(std::move(claim), now, [outgoing = std::move(outgoing), now](Database& database) {
                          return send(database, outgoing, now);
                        }));
}

}  // namespace restante::sqlite
