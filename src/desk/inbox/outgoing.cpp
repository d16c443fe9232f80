#include "desk/inbox/outgoing.h"

#include <map>

#include "desk/inbox/message_content.h"
#include "model/errors.h"

namespace restante::desk {
namespace {

Json* uri_in(Json& part) {
  Json* file = part.find("file");
  Json* uri = file ? file->find("uri") : nullptr;
  return uri && uri->if_string() ? uri : nullptr;
}

Error gone(std::optional<FileId> file) {
  if (!file) return errors::attachment_gone;
  return {errors::attachment_gone, {{"file_id", file->text()}}};
}

}  // namespace

Result<std::vector<OutgoingFile>> address_files(const Principal& caller, WorkspaceId target, Envelope& envelope,
                                                Time now, const IsOutgoing& is_outgoing) {
  std::vector<OutgoingFile> files;
  if (caller.role != Principal::Role::workspace) return files;
  const WorkspaceId owner = *caller.workspace_id;
  const auto is_the_targets = [&](std::string_view uri) {
    const auto file = file_of(uri, target);
    return file && !(owner == target && is_outgoing && is_outgoing(*file));
  };
  std::map<FileId, FileId> names;
  for (Json& part : *envelope.json.find("params")->find("message")->find("parts")->if_array()) {
    Json* uri = uri_in(part);
    if (!uri || !uri->if_string()->starts_with(kPendingScheme) || is_the_targets(*uri->if_string())) continue;
    const auto source = file_of(*uri->if_string(), owner);
    if (!source) return gone({});
    const auto [name, first] = names.try_emplace(*source, FileId::make(now));
    if (first) files.push_back({owner, *source, name->second});
    *uri = Json::string(pending_uri(target, name->second));
  }
  return files;
}

StagingTerms Outgoing::terms() const {
  const UploadRules& rules = uploads_.rules();
  StagingTerms terms{clock_.lifetime_start() + rules.ttl, rules.quota, UploadDirection::in, {}};
  terms.expiry = clock_.expiry_time();
  return terms;
}

Commit<Result<SentMessage>> Outgoing::send(WorkspaceId target, const NewInboxRow& row, std::vector<OutgoingFile> files,
                                           OptionalClaim<SentMessage> claim) {
  const Time now = clock_.now();
  auto commit = store_.append_to_inbox_with_files(target, row, std::move(files), terms(), now, std::move(claim));
  commit.then([&events = uploads_.events(), &messages = messages_, target, row](const Result<SentMessage>& sent) {
    if (!sent) return;
    for (const StagedUpload& file : sent->files) events.staged(file);
    messages.announce(target, row, sent->row);
  });
  return commit;
}

Result<void> Outgoing::check_shown(WorkspaceId workspace, const Json::Array& parts) {
  const MessageContent content = content_of_parts(parts);
  for (const FilePart& shown : content.files) {
    if (!shown.uri.starts_with(kPendingScheme)) continue;
    const auto id = file_of(shown.uri, workspace);
    if (!id) return gone({});
    const auto upload = store_.find_upload(workspace, *id);
    if (!upload || upload->state(clock_.expiry_time()) == UploadState::expired) return gone(id);
  }
  return {};
}

}  // namespace restante::desk
