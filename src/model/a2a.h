// The JSON of an A2A message, as the server, the agent and the CLI write it: the call message/send, the message in its
// params, and the message's parts. Readers take what any program wrote; see file_part.h for the files. Pure functions.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/json_writer.h"

namespace restante {

// "params":{"message":{…}}; `write()` writes the members of the message.
void write_message(JsonWriter& out, auto&& write) {
  out.object("params", [&] { out.object("message", write); });
}

// The text of a whole call, in which `write(writer)` writes the members of the message.
std::string message_call(std::string_view id, auto&& write) {
  return json_object([&](JsonWriter& out) {
    out.member("jsonrpc", "2.0");
    out.member("id", id);
    out.member("method", "message/send");
    write_message(out, [&] { write(out); });
  });
}

// "parts":[…]: the text, if there is one, and the files; `write(file)` writes the object that names the file.
void write_parts(JsonWriter& out, std::optional<std::string_view> text, const auto& files, auto&& write) {
  out.key("parts");
  out.begin_array();
  if (text) {
    out.object([&] {
      out.member("kind", "text");
      out.member("text", *text);
    });
  }
  for (const auto& file : files) {
    out.object([&] {
      out.member("kind", "file");
      out.key("file");
      write(file);
    });
  }
  out.end_array();
}

}  // namespace restante
