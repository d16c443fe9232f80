#include "mcp/message.h"

#include <algorithm>
#include <array>

#include "base/json_writer.h"
#include "mcp/id_finder.h"

namespace restante::mcp {
namespace {

using Kind = Incoming::Kind;

constexpr auto kVersions = std::to_array<Version>({
    {"2025-11-25", false, true, true},
    {"2025-06-18", false, true, true},
    {"2025-03-26", true, true, false},
    {"2024-11-05", false, false, false},
});

constexpr JsonLimits kLimits{.depth = 64, .nodes = 100'000};

Incoming invalid(Json id, int code, std::string fault) {
  Incoming message;
  message.id = std::move(id);
  message.code = code;
  message.fault = std::move(fault);
  return message;
}

Incoming read_message(Json& json) {
  if (!json.if_object()) return invalid({}, kInvalidRequest, "a message must be a JSON object");
  const Json* id = json.find("id");
  const bool named = id && (id->if_string() || id->if_number());
  const Json known = named ? *id : Json();
  if (json.text("jsonrpc") != "2.0") return invalid(known, kInvalidRequest, "jsonrpc must be \"2.0\"");
  const Json* method = json.find("method");
  Incoming message;
  message.id = known;
  if (!method) {
    if (!json.find("result") && !json.find("error"))
      return invalid(known, kInvalidRequest, "a message needs a method, a result or an error");
    message.kind = Kind::response;
    return message;
  }
  if (!method->if_string()) return invalid(known, kInvalidRequest, "method must be a string");
  if (id && !named) return invalid({}, kInvalidRequest, "id must be a string or a number");
  message.method = *method->if_string();
  if (Json* params = json.find("params"); params && !params->is_null()) {
    if (!params->if_object()) return invalid(known, kInvalidParams, "params must be an object");
    message.params = std::move(*params);
  }
  message.kind = named ? Kind::request : Kind::notification;
  return message;
}

std::string_view sentence_for(JsonFault fault) {
  switch (fault) {
    case JsonFault::too_deep:
    case JsonFault::too_many_nodes:
      return "the JSON of this line is too deep or too large";
    case JsonFault::duplicate_key:
      return "the JSON of this line has a key twice";
    case JsonFault::nul_not_allowed:
      return "a NUL character cannot be passed on";
    case JsonFault::malformed:
      break;
  }
  return "this line is not valid JSON";
}

ParsedLine unparsable(std::string_view text, std::string_view fault) {
  IdFinder finder;
  finder.add(text);
  auto ids = finder.ids();
  ParsedLine line;
  line.batch = finder.batch() && !ids.empty();
  if (!line.batch && ids.size() != 1) ids = {Json()};
  for (Json& id : ids) line.messages.push_back(invalid(std::move(id), kParseError, std::string(fault)));
  return line;
}

}  // namespace

const Version& negotiate(std::string_view requested) {
  const auto found = std::ranges::find(kVersions, requested, &Version::name);
  return found == kVersions.end() ? kVersions.front() : *found;
}

ParsedLine parse_line(std::string_view text) {
  ParsedLine line;
  auto json = parse_json(text, kLimits);
  if (json.has_error()) return unparsable(text, sentence_for(json.error()));
  if (auto* list = json->if_array(); list && !list->empty()) {
    line.batch = true;
    for (Json& one : *list) line.messages.push_back(read_message(one));
    return line;
  }
  line.messages.push_back(read_message(*json));
  return line;
}

std::string response(const Json& id, std::string_view result_json) {
  return json_object([&](JsonWriter& out) {
    out.member("jsonrpc", "2.0");
    out.raw_member("id", id.dump());
    out.raw_member("result", result_json);
  });
}

std::string error_response(const Json& id, int code, std::string_view sentence) {
  return json_object([&](JsonWriter& out) {
    out.member("jsonrpc", "2.0");
    out.raw_member("id", id.dump());
    out.object("error", [&] {
      out.member("code", static_cast<std::int64_t>(code));
      out.member("message", sentence);
    });
  });
}

std::string notification(std::string_view method, std::string_view params_json) {
  return json_object([&](JsonWriter& out) {
    out.member("jsonrpc", "2.0");
    out.member("method", method);
    out.raw_member("params", params_json);
  });
}

}  // namespace restante::mcp
