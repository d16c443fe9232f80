// Command: a row of the table of commands. --help, the parser, the completion and the dispatch all come from it; a new
// command is one row. The rows point into a CommandLine, which must outlive them. Only command_parser.cpp includes
// CLI11, which takes seconds to compile.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/command_line/command_line.h"

namespace restante::cli {

// A flag, or a positional argument: its name has no dashes.
struct Flag {
  using Values = std::vector<std::string>;
  // Called after everything was parsed, if the flag was given; may throw UsageError.
  using Take = std::function<void(const Values& given)>;
  enum Rule { none, required, repeatable, positive, up_to_an_hour };

  std::string name;   // "--config"
  std::string shape;  // of its value in --help: "FILE"; empty: it is a switch
  std::string help;
  std::variant<bool*, int*, std::int64_t*, std::string*, Values*, Take> to;  // Values: may be repeated
  Rule rule = none;
  std::vector<std::string> choices{};  // any other value is refused
  std::string excludes{};              // the flag that cannot be given together with this one
};
using Flags = std::vector<Flag>;
Flags join(Flags first, const Flags& more);

struct Command {
  std::string called;  // "workspace create"; empty: the program itself, the first row
  std::string summary;
  std::string details;  // of --help, below the flags: what it does, examples, environment
  // Adds the values of the environment; RemoteOptions also the flags that all commands of a server share, and the
  // paragraph of --help about them.
  std::variant<std::monostate, RemoteOptions*, AgentOptions*> uses{};
  Runs<CommandLine>* run = nullptr;  // null: a group of commands, such as `workspace`
  Flags flags{};                     // in the order of --help
};
using Commands = std::vector<Command>;

// By audience. restante-agent links only the first.
Commands agent_commands(CommandLine& to);   // for an agent's machine
Commands people_commands(CommandLine& to);  // for people: workspaces, tokens, messages, tasks
Commands server_commands(CommandLine& to);  // that run a server
Commands data_commands(CommandLine& to);    // for the server's data and configuration

// The flags that the parser adds: the first to every command, the second to the program itself.
inline constexpr auto kHelpHelp = "Print this help and exit.";
inline constexpr auto kVersionHelp = "Print version, commit and compiler, and exit.";

// The rows of one program, with the flags that they share.
Commands make_table(const Command& program, const std::vector<Commands>& parts);
// Parses the arguments into `to`. Throws UsageError.
void parse_words(const Commands& table, int argc, const char* const* argv, CommandLine& to);

// `restante completion bash|zsh`: a script that completes commands, flags and their values. Throws UsageError for
// another shell.
std::string completion(const Commands& table, const std::string& shell);

}  // namespace restante::cli
