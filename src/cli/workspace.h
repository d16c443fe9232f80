// `restante workspace create|list|show|remove|set`: the places of agents on a running server.
#pragma once
#include <string>
#include <vector>

#include "cli/remote.h"
#include "cli/table.h"

namespace restante::cli {

struct WorkspaceOptions {
  enum class Action { create, list, show, remove, set } action = Action::list;
  RemoteOptions remote;
  std::string workspace;  // id or name; of show, remove and set
  std::string name;       // of create, as the three below
  std::string role;
  std::string parent;                // id or name
  std::string push_url;              // a callback: messages are pushed there instead of waiting
  std::vector<std::string> changes;  // key=value, of set
};

// Returns the exit code.
int workspace(const WorkspaceOptions& options);

// What the server answered, for a person.
std::string format_workspaces(const Json& list, Time now, Colours colours);
std::string format_workspace(const Json& one, Time now, Colours colours);
// The name, the id and the line to paste.
std::string format_created(const Json& created, Time now);

// key=value as the body of a PATCH; an empty value clears it. Throws CommandFailed for what no workspace has.
std::string patch_body(const std::vector<std::string>& changes);

}  // namespace restante::cli
