#include "model/file_part.h"

namespace restante {

FilePart read_file_part(const Json& object) {
  const auto text = [&](std::string_view key) {
    const Json* member = object.find(key);
    return member && member->if_string() ? *member->if_string() : std::string();
  };
  const Json* size = object.find("size");
  return {text("uri"), text("name"), text("mimeType"), size ? size->integer() : std::nullopt};
}

void write_file_part(JsonWriter& out, const FilePart& file) {
  out.begin_object();
  out.member("uri", file.uri);
  out.member("name", file.name);
  if (!file.mime_type.empty()) out.member("mimeType", file.mime_type);
  if (file.size) out.member("size", *file.size);
  out.end_object();
}

void write_file_part(JsonWriter& out, const Json& staged) {
  out.begin_object();
  for (const char* key : {"uri", "name", "mimeType", "size"}) {
    const Json* value = staged.find(key);
    if (!value || value->is_null()) continue;
    out.key(key);
    out.raw(value->dump());
  }
  out.end_object();
}

}  // namespace restante
