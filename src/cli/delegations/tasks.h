// `restante tasks` and `restante task show|cancel|retry`: shows the tasks that agents gave each other, their state and
// why they are not done yet; cancels or repeats one.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cli/remote/remote.h"
#include "cli/terminal/table.h"

namespace restante::cli {

struct TasksOptions {
  RemoteOptions remote;
  std::string workspace;  // id or name; empty: that of the token; with the operator's token: all
  std::string status = "in_flight";
  bool stats = false;
  bool watch = false;
};

struct TaskOptions {
  enum class Action { show, cancel, retry };
  Action action = Action::show;
  RemoteOptions remote;
  std::string id;
  std::string workspace;  // of the caller; empty: that of the token; with the operator's token: any
  // For retry: sent instead of the task's own files.
  std::vector<std::string> files{};
  bool no_files = false;
  std::string within{};  // "30m", "6h", "3d"; empty: as long as before
};

// Each returns the exit code.
int tasks(const TasksOptions& options);
int task(const TaskOptions& options);

using Names = std::map<std::string, std::string>;  // by id; an id that is not in it is shown itself

// With a line when the server may have more than was requested.
std::string format_tasks(const Json::Array& tasks, const Names& names, Time now, Colours colours);
std::string format_task(const Json& task, const Names& names, Time now, Colours colours);
std::string format_task_stats(const Json& answer, Colours colours);

bool has_ended(const Json& task);
// The state as text: "waiting: the receiving agent is offline since 2 h", "completed", "failed: deadline exceeded".
Cell describe_task(const Json& task);

// The workspace of that id or name, otherwise that of the token. Throws CommandFailed with `question` when the token
// has none.
WorkspaceId find_viewer(Remote& remote, const std::string& id_or_name, const std::string& question);

}  // namespace restante::cli
