// JSON-RPC 2.0 as MCP uses it: parses one input line to a value, and writes a value as one output line. An invalid line
// is a value, too, with the error code for its sender and the id, if one can be found: only then the call ends. Also
// the supported versions of MCP, and what each allows. Pure functions.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace restante::mcp {

struct Version {
  std::string_view name;
  bool batches;      // several messages in one line
  bool annotations;  // hints with a tool; a message with progress
  bool structured;   // outputSchema, structuredContent, title
};

// The requested version, or the newest: a client that does not support that one ends the session.
const Version& negotiate(std::string_view requested);

inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kTooBusy = -32000;

struct Incoming {
  enum class Kind {
    request,
    notification,
    response,  // ignored: we send no requests
    invalid,   // the reason is in `code` and `fault`
  } kind = Kind::invalid;
  Json id;  // null when not known
  std::string method;
  Json params;  // an object, or null
  int code = 0;
  std::string fault;
};

struct ParsedLine {
  bool batch = false;
  std::vector<Incoming> messages;  // never empty
};

ParsedLine parse_line(std::string_view line);

// Each without the end of the line.
std::string response(const Json& id, std::string_view result_json);
std::string error_response(const Json& id, int code, std::string_view sentence);
std::string notification(std::string_view method, std::string_view params_json);

}  // namespace restante::mcp
