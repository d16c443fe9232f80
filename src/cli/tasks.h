// `restante tasks` and `restante task show|cancel|retry`: what agents have asked of each other, how far it is and, of
// what is not done, why.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cli/remote.h"
#include "cli/table.h"

namespace restante::cli {

struct TasksOptions {
  RemoteOptions remote;
  std::string workspace;  // id or name; empty: the token's own, of the operator all
  std::string status = "in_flight";
  bool stats = false;
  bool watch = false;
};

struct TaskOptions {
  enum class Action { show, cancel, retry };
  Action action = Action::show;
  RemoteOptions remote;
  std::string id;
  std::string workspace;  // whose it is; empty: the token's own, for the operator whoever's
  // Of a retry: instead of the files that came with it.
  std::vector<std::string> files{};
  bool no_files = false;
  std::string within{};  // "30m", "6h", "3d"; empty: as long as before
};

// Each returns the exit code.
int tasks(const TasksOptions& options);
int task(const TaskOptions& options);

using Names = std::map<std::string, std::string>;  // by id; ids that are not there stand for themselves

// With a word where the server may have more than it was asked for.
std::string format_tasks(const Json::Array& tasks, const Names& names, Time now, Colours colours);
std::string format_task(const Json& task, const Names& names, Time now, Colours colours);
std::string format_task_stats(const Json& answer, Colours colours);

bool has_ended(const Json& task);
// Where it stands, in words: "waiting: the callee is offline since 2 h", "completed", "failed: deadline exceeded".
Cell describe_task(const Json& task);

// The workspace of that id or name, else the token's own. A token that has none is refused with the question.
WorkspaceId find_viewer(Remote& remote, const std::string& id_or_name, const std::string& question);

}  // namespace restante::cli
