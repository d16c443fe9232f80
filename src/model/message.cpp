#include "model/message.h"

#include "model/named_files.h"

namespace restante {
namespace {

// Each part is preceded by its length, so that different lists of parts never give the same input.
Digest message_digest(const NewInboxRow& row, std::string_view body) {
  Sha256 hash;
  const auto add = [&hash](std::string_view part) {
    hash.update(std::to_string(part.size()) + ':');
    hash.update(part);
  };
  add(row.source_id ? row.source_id->text() : "");
  add(row.message_id);
  add(row.activity_type);
  add(row.method);
  add(body);
  if (!row.sent_by.empty()) add(row.sent_by);
  return hash.finish();
}

// A plain text replacement is safe: the new ids were just made and occur only in the URIs of the files.
std::string with_sources(std::string body, WorkspaceId workspace, std::span<const OutgoingFile> files) {
  for (const auto& file : files) {
    const std::string given = pending_uri(workspace, file.id);
    const std::string source = pending_uri(file.owner, file.source);
    for (auto at = body.find(given); at != std::string::npos; at = body.find(given, at + source.size())) {
      body.replace(at, given.size(), source);
    }
  }
  return body;
}

}  // namespace

Message::Message(const NewInboxRow& row, WorkspaceId workspace, std::span<const OutgoingFile> files, Time now)
    : activity(row), id(InboxRowId::make(now)), named(named_keys_of(row, workspace)) {
  if (activity.message_id.empty()) return;
  const std::string& content = activity.content.empty() ? activity.request_body : activity.content;
  digest = files.empty() ? message_digest(activity, content)
                         : message_digest(activity, with_sources(content, workspace, files));
}

}  // namespace restante
