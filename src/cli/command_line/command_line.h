// CommandLine: the parsed command line as plain values. command_line*.cpp parse it.
#pragma once
#include <string>

#include "cli/blobs/blobs.h"
#include "cli/delegations/delegate.h"
#include "cli/delegations/tasks.h"
#include "cli/options.h"
#include "cli/server/migrate.h"
#include "cli/uploads/send.h"
#include "cli/uploads/sweep.h"
#include "cli/uploads/uploads.h"
#include "cli/workspaces/invite.h"
#include "cli/workspaces/token.h"
#include "cli/workspaces/workspace.h"

namespace restante::cli {

enum class Command {
  serve,
  dev,
  connect,
  mcp,
  status,
  doctor,
  workspace,
  token,
  invite,
  send,
  uploads,
  delegate,
  tasks,
  task,
  sweep,
  blobs,
  migrate,
  move,
  config,
  print
};

// Which command, and the options of that one; those of the others are untouched.
struct CommandLine {
  Command command = Command::print;
  ConfigSources serve;
  DevOptions dev;
  ConnectOptions connect;
  McpOptions mcp;
  StatusOptions status;
  DoctorOptions doctor;
  WorkspaceOptions workspace;
  TokenOptions token;
  InviteOptions invite;
  SendOptions send;
  UploadsOptions uploads;
  DelegateOptions delegate;
  TasksOptions tasks;
  TaskOptions task;
  SweepOptions sweep;
  BlobsOptions blobs;
  MigrateOptions migrate;
  MoveOptions move;
  ConfigOptions config;
  std::string text;  // for Command::print (--help, --version, completion): printed unchanged
};

// Throws UsageError. Opens nothing, and reads the environment of the process only into the result.
CommandLine parse_command_line(int argc, const char* const* argv);
// The same for restante-agent.
CommandLine parse_agent_command_line(int argc, const char* const* argv);

}  // namespace restante::cli
