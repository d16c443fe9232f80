// `restante delegate`: gives a task, with files, to another agent and, with --wait, waits for its result.
#pragma once
#include <string>
#include <vector>

#include "cli/remote/remote.h"
#include "cli/terminal/table.h"

namespace restante::cli {

struct DelegateOptions {
  RemoteOptions remote;
  std::string from;  // the caller's workspace: id or name; empty: that of the token
  std::string to;    // id or name
  std::string task;
  std::vector<std::string> files;
  std::string within;  // "30m", "6h", "3d"; empty: the server's default
  std::string id;      // chosen by the caller; empty: made by the server
  bool wait = false;
  std::int64_t timeout = 0;  // of --wait, in seconds; 0: no limit
};

// Returns the exit code: with `wait` 0 only when the task was completed.
int delegate(const DelegateOptions& options);

// The time that is `within` ("30m") from now, in the server's format. Throws CommandFailed with 64 when it is no
// duration.
std::string deadline_of(const std::string& within);

// Follows a task until it has ended and prints each change unless quiet. Throws CommandFailed with 75 when `timeout`
// seconds have passed first. Only reads the task, not the inbox: with the workspace's token, a cursor would ack the
// rows before it.
Json follow_task(Remote& remote, WorkspaceId viewer, const std::string& id, std::int64_t timeout, bool quiet);

// The task's result and files, or why there is none. A script gets the result unchanged.
enum class Reader { person, script };
std::string format_outcome(const Json& task, Reader reader, Colours colours);

}  // namespace restante::cli
