// The flags of the commands for an agent's machine: connect, mcp, status, doctor, send. restante-agent, the executable
// that a server offers for download, has only these; restante has them too.
#pragma once
#include <CLI/CLI.hpp>

#include "cli/command_line.h"

namespace restante::cli {

// Adds them to `app`. The command that was given sets itself in `to`; `to` must outlive the parsing.
void add_agent_commands(CLI::App& app, CommandLine& to);

// The flags of every command that sends requests to a server, and the values that the environment adds.
void add_remote_flags(CLI::App& app, RemoteOptions& to);
void add_environment(RemoteOptions& to);

// The command line of restante-agent. Throws UsageError.
CommandLine parse_agent_command_line(int argc, const char* const* argv);

}  // namespace restante::cli
