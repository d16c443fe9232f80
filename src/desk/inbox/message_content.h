// MessageContent is the text and the files of an inbox row. Agents and other clients write the bodies, so malformed
// parts are skipped and are never an error. Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"
#include "model/file_part.h"
#include "model/inbox_row.h"

namespace restante::desk {

struct MessageContent {
  std::string text;  // of several text parts, with an empty line between them
  std::vector<FilePart> files;

  bool nothing() const { return text.empty() && files.empty(); }
};

// A2A parts: texts, and files that have a uri.
MessageContent content_of_parts(const Json::Array& parts);
// The message of a message/send row.
MessageContent request_content(const InboxRow& row);
// The agent's message: a notify's text and attachments, or the answer of a callback. The answer is a message, or a task
// with its status and artifacts.
MessageContent response_content(const InboxRow& row);
// The file an upload's row or receipt is about.
std::optional<FilePart> upload_in(const InboxRow& row);
// Whether the agent itself staged the file of an upload's row.
bool is_agents_upload(const InboxRow& row);

// As a JSON array of {uri, name, mimeType?, size?}.
void write_files(JsonWriter& out, const std::vector<FilePart>& files);

}  // namespace restante::desk
