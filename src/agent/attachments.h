// Attachments: files as a message to a person, a task or its result names them: what the server said when they were
// staged, in the fields of the wire contract. Pure.
#pragma once
#include <vector>

#include "base/json.h"
#include "base/json_writer.h"

namespace restante::agent {

// The member `attachments`; nothing when there are none.
inline void write_attachments(JsonWriter& out, const std::vector<Json>& files) {
  if (files.empty()) return;
  out.key("attachments");
  out.begin_array();
  for (const Json& file : files) {
    out.begin_object();
    for (const char* key : {"uri", "name", "mimeType", "size"}) {
      const Json* value = file.find(key);
      if (!value || value->is_null()) continue;
      out.key(key);
      out.raw(value->dump());
    }
    out.end_object();
  }
  out.end_array();
}

}  // namespace restante::agent
