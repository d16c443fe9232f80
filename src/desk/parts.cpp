#include "desk/parts.h"

#include "base/text.h"
#include "model/upload.h"

namespace restante::desk {
namespace {

const Json* find_in(const Json* object, std::string_view name) { return object ? object->find(name) : nullptr; }

std::string text_in(const Json* object, std::string_view name) {
  const Json* member = find_in(object, name);
  return member && member->if_string() ? *member->if_string() : std::string();
}

FilePart file_in(const Json& object) {
  const Json* size = object.find("size");
  return {text_in(&object, "uri"), text_in(&object, "name"), text_in(&object, "mimeType"),
          size ? size->integer() : std::nullopt};
}

void add(Said& said, std::string_view text) {
  if (text.empty()) return;
  if (!said.text.empty()) said.text += "\n\n";
  said.text += text;
}

void add(Said& said, Said more) {
  add(said, more.text);
  for (FilePart& file : more.files) said.files.push_back(std::move(file));
}

std::optional<Json> body(std::string_view text) {
  auto parsed = parse_json(text);
  if (!parsed) return std::nullopt;
  return std::move(*parsed);
}

}  // namespace

Said said_in_parts(const Json* parts) {
  Said said;
  if (!parts || !parts->if_array()) return said;
  for (const Json& part : *parts->if_array()) {
    add(said, text_in(&part, "text"));
    const Json* file = part.find("file");
    if (file && !text_in(file, "uri").empty()) said.files.push_back(file_in(*file));
  }
  return said;
}

Said asked_in(const Activity& row) {
  const auto request = body(row.request_body);
  if (!request) return {};
  return said_in_parts(find_in(find_in(find_in(&*request, "params"), "message"), "parts"));
}

Said answered_in(const Activity& row) {
  const auto response = body(row.response_body);
  if (!response) return {};
  Said said;
  const Json* result = response->find("result");
  add(said, text_in(&*response, "result"));
  add(said, said_in_parts(response->find("parts")));
  add(said, said_in_parts(find_in(result, "parts")));
  add(said, said_in_parts(find_in(find_in(result, "message"), "parts")));
  add(said, said_in_parts(find_in(find_in(find_in(result, "status"), "message"), "parts")));
  const Json* artifacts = find_in(result, "artifacts");
  if (!artifacts || !artifacts->if_array()) return said;
  for (const Json& artifact : *artifacts->if_array()) add(said, said_in_parts(artifact.find("parts")));
  return said;
}

std::optional<FilePart> upload_in(const Activity& row) {
  const bool arrival = row.activity_type == "a2a_receive" && row.method == "chat_upload_receive";
  if (!arrival && row.activity_type != "upload_receipt") return std::nullopt;
  const auto request = body(row.request_body);
  if (!request) return std::nullopt;
  const auto id = FileId::parse(text_in(&*request, "file_id"));
  if (!id) return std::nullopt;
  FilePart file = file_in(*request);
  file.uri = pending_uri(row.workspace_id, *id);
  return file;
}

void write_files(JsonWriter& out, const std::vector<FilePart>& files) {
  out.begin_array();
  for (const FilePart& file : files) {
    out.begin_object();
    out.member("uri", file.uri);
    out.member("name", file.name);
    if (!file.mime_type.empty()) out.member("mimeType", file.mime_type);
    if (file.size) out.member("size", *file.size);
    out.end_object();
  }
  out.end_array();
}

}  // namespace restante::desk
