#include "model/file_part.h"

#include <utility>

#include "base/text.h"

namespace restante {

FilePart read_file_part(const Json& object) {
  const Json* size = object.find("size");
  std::string type = object.text("mimeType");
  if (type.empty()) type = object.text("mime_type");
  return {object.text("uri"), object.text("name"), std::move(type), size ? size->integer() : std::nullopt};
}

std::string_view kind_of(const FilePart& file) {
  for (const std::string_view kind : {"image", "audio", "video"}) {
    const std::string_view type = file.mime_type;
    if (type.size() > kind.size() && type[kind.size()] == '/' && equal_ignoring_case(type.substr(0, kind.size()), kind))
      return kind;
  }
  return "file";
}

void write_file_part(JsonWriter& out, const FilePart& file) {
  out.object([&] {
    out.member("uri", file.uri);
    out.member("name", file.name);
    out.member_if("mimeType", file.mime_type);
    out.member_if("size", file.size);
  });
}

void write_file_part(JsonWriter& out, const Json& staged) {
  out.object([&] {
    for (const char* key : {"uri", "name", "mimeType", "size"}) {
      const Json* value = staged.find(key);
      if (value && !value->is_null()) out.raw_member(key, value->dump());
    }
  });
}

void write_attachments(JsonWriter& out, const std::vector<Json>& staged) {
  if (!staged.empty()) out.array("attachments", staged, [&](const Json& file) { write_file_part(out, file); });
}

}  // namespace restante
