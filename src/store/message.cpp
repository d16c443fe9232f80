#include "store/message.h"

namespace restante {
namespace {

// Each part is preceded by its length, so that no two lists of parts run together.
Digest message_digest(const NewInboxRow& activity, std::string_view body) {
  Sha256 hash;
  const auto add = [&hash](std::string_view part) {
    hash.update(std::to_string(part.size()) + ':');
    hash.update(part);
  };
  add(activity.source_id ? activity.source_id->text() : "");
  add(activity.message_id);
  add(activity.activity_type);
  add(activity.method);
  add(body);
  if (!activity.sent_by.empty()) add(activity.sent_by);
  return hash.finish();
}

// The new ids are fresh: they stand nowhere but in the addresses of the files.
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

Message::Message(const NewInboxRow& new_activity, WorkspaceId workspace, std::span<const OutgoingFile> files, Time now)
    : activity(new_activity), id(InboxRowId::make(now)) {
  if (activity.message_id.empty()) return;
  const std::string& content = activity.content.empty() ? activity.request_body : activity.content;
  digest = files.empty() ? message_digest(activity, content)
                         : message_digest(activity, with_sources(content, workspace, files));
}

}  // namespace restante
