// The flags of the commands of the agent's machine: connect, mcp, status, doctor, send. They make up restante-agent,
// the executable that a server hands out, and are part of restante too.
#pragma once
#include <CLI/CLI.hpp>

#include "cli/command_line.h"

namespace restante::cli {

// Adds them to `app`. Each notes itself in `to` when it is the one that was given; `to` must outlive the parsing.
void add_agent_commands(CLI::App& app, CommandLine& to);

// What every command that talks to a server takes, and what the environment adds to it.
void add_remote_flags(CLI::App& app, RemoteOptions& to);
void add_environment(RemoteOptions& to);

// The command line of restante-agent. Throws UsageError.
CommandLine parse_agent_command_line(int argc, const char* const* argv);

}  // namespace restante::cli
