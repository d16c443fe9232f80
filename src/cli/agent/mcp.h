// `restante mcp`: an agent whose messages and files are handed over to an MCP client on stdin and stdout.
#pragma once
#include "cli/agent/setup.h"

namespace restante::cli {

struct McpOptions {
  AgentOptions agent;
  int file_wait = 20;  // --file-wait, seconds
};

// Returns the exit code when stdin ends or a signal comes. Throws CommandFailed.
int mcp(const McpOptions& options);

}  // namespace restante::cli
