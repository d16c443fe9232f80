// Parts of `restante delegate`, `restante tasks` and `restante task` that they share, or that a test can use without a
// server.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cli/remote/remote.h"
#include "cli/terminal/table.h"
#include "cli/uploads/save.h"

namespace restante::cli {

using WorkspaceNames = std::map<std::string, std::string>;  // by id; an id that is not in it is shown itself

// With a line when the server may have more than was requested.
std::string format_tasks(const Json::Array& tasks, const WorkspaceNames& names, Time now, Colours colours);
std::string format_task(const Json& task, const WorkspaceNames& names, Time now, Colours colours);
std::string format_task_stats(const Json& answer, Colours colours);

bool has_ended(const Json& task);
// The state as text: "waiting: the receiving agent is offline since 2 h", "completed", "failed: deadline exceeded".
Cell describe_task(const Json& task);

// The time that is `within` ("30m") from now, in the server's format. Throws CommandFailed with 64 when it is no
// duration.
std::string deadline_of(const std::string& within);

// Follows a task until it has ended and prints each change unless quiet. Throws CommandFailed with 75 when `timeout`
// seconds have passed first. Only reads the task, not the inbox: with the workspace's token, a cursor would ack the
// rows before it.
Json follow_task(Remote& remote, WorkspaceId viewer, const std::string& id, std::int64_t timeout, bool quiet);

// The task's result and files, or why there is none. A script gets the result unchanged.
enum class Reader { person, script };
std::string format_outcome(const Json& task, const std::vector<ReturnedFile>& files, Reader reader, Colours colours);

}  // namespace restante::cli
