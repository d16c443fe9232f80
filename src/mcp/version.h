// The supported versions of MCP, and what each allows. Pure.
#pragma once
#include <string_view>

namespace restante::mcp {

struct Version {
  std::string_view name;
  bool batches;      // several messages in one line
  bool annotations;  // hints with a tool; a message with progress
  bool structured;   // outputSchema, structuredContent, title
};

// The requested version, or the newest: a client that does not support that one ends the session.
const Version& negotiate(std::string_view requested);

}  // namespace restante::mcp
