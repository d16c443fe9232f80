// The command line: what was asked, as plain values. Parsing it is command_line*.cpp.
#pragma once
#include <string>

#include "cli/config.h"
#include "cli/connect.h"
#include "cli/dev.h"
#include "cli/doctor.h"
#include "cli/invite.h"
#include "cli/migrate.h"
#include "cli/send.h"
#include "cli/status.h"
#include "cli/sweep.h"
#include "cli/token.h"
#include "cli/uploads.h"
#include "cli/workspace.h"
#include "server/config.h"

namespace restante::cli {

enum class Command {
  serve,
  dev,
  connect,
  status,
  doctor,
  workspace,
  token,
  invite,
  send,
  uploads,
  sweep,
  migrate,
  config,
  print
};

// Which command, and the options of that one; those of the others are untouched.
struct CommandLine {
  Command command = Command::print;
  ConfigSources serve;
  DevOptions dev;
  ConnectOptions connect;
  StatusOptions status;
  DoctorOptions doctor;
  WorkspaceOptions workspace;
  TokenOptions token;
  InviteOptions invite;
  SendOptions send;
  UploadsOptions uploads;
  SweepOptions sweep;
  MigrateOptions migrate;
  ConfigOptions config;
  std::string text;  // for Command::print (--help, --version, completion): goes to stdout as it is
};

// Throws UsageError. Opens nothing, and reads the environment of the process only into the result.
CommandLine parse_command_line(int argc, const char* const* argv);

}  // namespace restante::cli
