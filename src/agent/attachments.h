// Writes the `attachments` of a message to a person, a task or a result: the fields that the server returned when the
// files were staged, as in the wire contract. Pure.
#pragma once
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"
#include "model/file_part.h"

namespace restante::agent {

// Writes the member `attachments`; writes nothing when there are no files.
inline void write_attachments(JsonWriter& out, const std::vector<Json>& files) {
  if (files.empty()) return;
  out.key("attachments");
  out.begin_array();
  for (const Json& file : files) write_file_part(out, file);
  out.end_array();
}

}  // namespace restante::agent
