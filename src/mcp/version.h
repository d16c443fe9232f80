// The revisions of MCP that are spoken, and what each allows. Pure.
#pragma once
#include <string_view>

namespace restante::mcp {

struct Version {
  std::string_view name;
  bool batches;      // several messages in one line
  bool annotations;  // hints with a tool; a message with progress
  bool structured;   // outputSchema, structuredContent, title
};

// The one asked for, or the newest: a client that cannot speak that ends the session.
const Version& negotiate(std::string_view asked);

}  // namespace restante::mcp
