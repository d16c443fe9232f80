// Parses the command line with CLI11, with our own error sentences where those of CLI11 are terse. Shared by the two
// executables, restante and restante-agent. Only the files command_*.cpp include CLI11, which takes seconds to compile.
#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line/command_line.h"

namespace restante::cli {

// Sets up help, version and their layout. `page` is the help page of the program itself.
void prepare(CLI::App& app, const std::string& page);

// Adds a subcommand with its help page; `called` is its full name, "workspace create".
CLI::App& add_command(CLI::App& app, const std::string& called);
// Adds one that sets itself in `to` when it was given; `options` are those that the environment adds to.
CLI::App& add_command(CLI::App& app, const std::string& called, CommandLine& to, Runs<CommandLine>* run,
                      RemoteOptions* options = nullptr);

std::vector<const CLI::App*> commands_of(const CLI::App& app);

// The commands for an agent's machine: connect, mcp, status, doctor, send. restante-agent, the executable that a server
// offers for download, has only these; restante has them too. The command that was given sets itself in `to`, which
// must outlive the parsing.
void add_agent_commands(CLI::App& app, CommandLine& to);
// The same for the commands that manage a server: workspace, token, invite, migrate and others.
void add_manage_commands(CLI::App& app, CommandLine& to);

// The flags of every command that sends requests to a server, and the values that the environment adds.
void add_remote_flags(CLI::App& app, RemoteOptions& to);
void add_environment(RemoteOptions& to);

// Parses the arguments. Returns the text to print when help or the version was requested. Throws UsageError.
std::optional<std::string> parse_words(CLI::App& app, int argc, const char* const* argv);

}  // namespace restante::cli
