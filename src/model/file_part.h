// FilePart: a file as messages, tasks and results name it in JSON: {uri, name, mimeType?, size?}. Reads what any
// program wrote: a member that is missing or of another type reads as empty, and mime_type is read like mimeType. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"

namespace restante {

struct FilePart {
  std::string uri;
  std::string name;
  std::string mime_type;
  std::optional<std::int64_t> size;
};

FilePart read_file_part(const Json& object);
// image, audio, video or file, by the media type.
std::string_view kind_of(const FilePart& file);
// Without members that are empty, except uri and name.
void write_file_part(JsonWriter& out, const FilePart& file);
// The members of a file part, as the server returned them when it staged the file; without those that are null.
void write_file_part(JsonWriter& out, const Json& staged);
// The member `attachments` of a message to a person, a task or a result; nothing when there are no files.
void write_attachments(JsonWriter& out, const std::vector<Json>& staged);

}  // namespace restante
