// CommandLine: the parsed command line as plain values, and the function that runs it. Every command is one row of the
// tables in commands_*.cpp.
#pragma once
#include <stdexcept>
#include <string>

#include "cli/options.h"

namespace restante::cli {

// The command line is wrong: one sentence that contains what to write instead.
class UsageError final : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct CommandLine;
Runs<CommandLine> print_text;

// Which command, and the options of that one; those of the others are untouched.
struct CommandLine {
  std::string called;  // "workspace create"; empty: --help or --version
  Runs<CommandLine>* run = print_text;
  ConfigSources serve;
  DevOptions dev;
  ConnectOptions connect;
  McpOptions mcp;
  StatusOptions status;
  DoctorOptions doctor;
  SendOptions send;
  ChatOptions chat;
  WorkspaceOptions workspace;
  TokenOptions token;
  InviteOptions invite;
  UploadsOptions uploads;
  DelegateOptions delegate;
  TasksOptions tasks;
  TaskOptions task;
  RemoteOptions sweep;
  RemoteOptions clock;
  BlobsOptions blobs;
  AdoptOptions adopt;
  RestoredOptions restored;
  MigrateOptions migrate;
  MoveOptions move;
  ConfigOptions config;
  std::string shell;  // of completion
  std::string text;   // of --help, --version and completion: printed unchanged
};

// Throws UsageError. Opens nothing, and reads the environment of the process only into the result.
CommandLine parse_command_line(int argc, const char* const* argv);
// The same for restante-agent, the executable that a server offers for download: it has only the commands for an
// agent's machine.
CommandLine parse_agent_command_line(int argc, const char* const* argv);

// All of main(): parses and runs the command, prints the sentence of an error, and returns the exit code.
int main_with_errors(CommandLine (*parse)(int, const char* const*), int argc, const char* const* argv);

}  // namespace restante::cli
