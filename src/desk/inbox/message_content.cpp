#include "desk/inbox/message_content.h"

#include "base/text.h"
#include "model/upload.h"

namespace restante::desk {
namespace {

const Json* find_in(const Json* object, std::string_view name) { return object ? object->find(name) : nullptr; }

std::string text_in(const Json* object, std::string_view name) {
  const Json* member = find_in(object, name);
  return member && member->if_string() ? *member->if_string() : std::string();
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

std::optional<Json> body(std::string_view text) {
  auto parsed = parse_json(text);
  if (!parsed) return std::nullopt;
  return std::move(*parsed);
}

}  // namespace

MessageContent content_of_parts(const Json* parts) {
  MessageContent content;
  if (!parts || !parts->if_array()) return content;
  for (const Json& part : *parts->if_array()) {
    add(content, text_in(&part, "text"));
    const Json* file = part.find("file");
    FilePart read = file ? read_file_part(*file) : FilePart();
    if (!read.uri.empty()) content.files.push_back(std::move(read));
  }
  return content;
}

MessageContent request_content(const InboxRow& row) {
  const auto request = body(row.request_body);
  if (!request) return {};
  return content_of_parts(find_in(find_in(find_in(&*request, "params"), "message"), "parts"));
}

MessageContent response_content(const InboxRow& row) {
  const auto response = body(row.response_body);
  if (!response) return {};
  MessageContent content;
  const Json* result = response->find("result");
  add(content, text_in(&*response, "result"));
  add(content, content_of_parts(response->find("parts")));
  add(content, content_of_parts(find_in(result, "parts")));
  add(content, content_of_parts(find_in(find_in(result, "message"), "parts")));
  add(content, content_of_parts(find_in(find_in(find_in(result, "status"), "message"), "parts")));
  const Json* artifacts = find_in(result, "artifacts");
  if (!artifacts || !artifacts->if_array()) return content;
  for (const Json& artifact : *artifacts->if_array()) add(content, content_of_parts(artifact.find("parts")));
  return content;
}

std::optional<FilePart> upload_in(const InboxRow& row) {
  const bool arrival = row.activity_type == "a2a_receive" && row.method == "chat_upload_receive";
  if (!arrival && row.activity_type != "upload_receipt") return std::nullopt;
  const auto request = body(row.request_body);
  if (!request) return std::nullopt;
  const auto id = FileId::parse(text_in(&*request, "file_id"));
  if (!id) return std::nullopt;
  FilePart file = read_file_part(*request);
  file.uri = pending_uri(row.workspace_id, *id);
  return file;
}

void write_files(JsonWriter& out, const std::vector<FilePart>& files) {
  out.begin_array();
  for (const FilePart& file : files) write_file_part(out, file);
  out.end_array();
}

}  // namespace restante::desk
