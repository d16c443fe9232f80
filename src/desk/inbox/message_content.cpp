#include "desk/inbox/message_content.h"

#include "base/text.h"
#include "model/upload.h"

namespace restante::desk {
namespace {

// The member; null if it is absent.
const Json& member_of(const Json& object, std::string_view name) {
  static const Json kNone;
  const Json* member = object.find(name);
  return member ? *member : kNone;
}

void add(MessageContent& content, std::string_view text) {
  if (text.empty()) return;
  if (!content.text.empty()) content.text += "\n\n";
  content.text += text;
}

void add(MessageContent& content, MessageContent more) {
  add(content, more.text);
  for (FilePart& file : more.files) content.files.push_back(std::move(file));
}

Json body(std::string_view text) {
  auto parsed = parse_json(text);
  return parsed ? std::move(*parsed) : Json();
}

}  // namespace

MessageContent content_of_parts(const Json::Array& parts) {
  MessageContent content;
  for (const Json& part : parts) {
    add(content, part.text("text"));
    FilePart file = read_file_part(member_of(part, "file"));
    if (!file.uri.empty()) content.files.push_back(std::move(file));
  }
  return content;
}

MessageContent request_content(const InboxRow& row) {
  const Json request = body(row.request_body);
  return content_of_parts(member_of(member_of(request, "params"), "message").items("parts"));
}

MessageContent response_content(const InboxRow& row) {
  const Json response = body(row.response_body);
  const Json& result = member_of(response, "result");
  MessageContent content;
  add(content, response.text("result"));
  add(content, content_of_parts(response.items("parts")));
  add(content, content_of_parts(result.items("parts")));
  add(content, content_of_parts(member_of(result, "message").items("parts")));
  add(content, content_of_parts(member_of(member_of(result, "status"), "message").items("parts")));
  for (const Json& artifact : result.items("artifacts")) add(content, content_of_parts(artifact.items("parts")));
  return content;
}

std::optional<FilePart> upload_in(const InboxRow& row) {
  const bool arrival = row.activity_type == "a2a_receive" && row.method == "chat_upload_receive";
  if (!arrival && row.activity_type != "upload_receipt") return std::nullopt;
  const Json request = body(row.request_body);
  const auto id = FileId::parse(request.text("file_id"));
  if (!id) return std::nullopt;
  FilePart file = read_file_part(request);
  file.uri = pending_uri(row.workspace_id, *id);
  return file;
}

bool is_agents_upload(const InboxRow& row) {
  return row.method == "chat_upload_receive" && body(row.request_body).text("uploaded_by") == "agent";
}

void write_files(JsonWriter& out, const std::vector<FilePart>& files) {
  out.array(files, [&](const FilePart& file) { write_file_part(out, file); });
}

}  // namespace restante::desk
