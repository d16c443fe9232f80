// CommandLine: the parsed command line as plain values. command_line*.cpp parse it.
#pragma once
#include <string>

#include "cli/blobs.h"
#include "cli/config.h"
#include "cli/connect.h"
#include "cli/delegate.h"
#include "cli/dev.h"
#include "cli/doctor.h"
#include "cli/invite.h"
#include "cli/mcp.h"
#include "cli/migrate.h"
#include "cli/move.h"
#include "cli/send.h"
#include "cli/status.h"
#include "cli/sweep.h"
#include "cli/tasks.h"
#include "cli/token.h"
#include "cli/uploads.h"
#include "cli/workspace.h"
#include "server/config.h"

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
