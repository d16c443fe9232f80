// `restante delegate`: a task for another agent, with files, and, if asked, waiting for what comes of it.
#pragma once
#include <string>
#include <vector>

#include "cli/remote.h"
#include "cli/table.h"

namespace restante::cli {

struct DelegateOptions {
  RemoteOptions remote;
  std::string from;  // whose task it is: id or name; empty: the token's own workspace
  std::string to;    // id or name
  std::string task;
  std::vector<std::string> files;
  std::string within;  // "30m", "6h", "3d"; empty: the server's default
  std::string id;      // chosen by the caller; empty: made by the server
  bool wait = false;
  std::int64_t timeout = 0;  // of waiting, in seconds; 0: as long as it takes
};

// Returns the exit code: with `wait` 0 only when the task was completed.
int delegate(const DelegateOptions& options);

// "30m" as the server wants it: the time that lies so far ahead. 64 for what is none.
std::string deadline_of(const std::string& within);

// Follows a task until it has ended, telling each change unless quiet; 75 when `timeout` seconds are over first. It
// only looks at the task: a cursor of the workspace's own token would count as having read what lies before it.
Json follow_task(Remote& remote, WorkspaceId viewer, const std::string& id, std::int64_t timeout, bool quiet);

// What came of it: its result and files, or why there is none. A script gets the result as it is.
enum class Reader { person, script };
std::string format_outcome(const Json& task, Reader reader, Colours colours);

}  // namespace restante::cli
