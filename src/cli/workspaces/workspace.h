// `restante workspace create|list|show|remove|set`: the workspaces of a running server.
#pragma once
#include <string>
#include <vector>

#include "cli/remote/remote.h"
#include "cli/terminal/table.h"

namespace restante::cli {

struct WorkspaceOptions {
  enum class Action { create, list, show, remove, set } action = Action::list;
  RemoteOptions remote;
  std::string workspace;  // id or name; of show, remove and set
  std::string name;       // of create, as the three below
  std::string role;
  std::string parent;                // id or name
  std::string push_url;              // a callback: messages are sent there instead of waiting in the inbox
  std::vector<std::string> changes;  // key=value, of set
};

// Returns the exit code.
int workspace(const WorkspaceOptions& options);

// The server's answer, formatted for a person.
std::string format_workspaces(const Json& list, Time now, Colours colours);
std::string format_workspace(const Json& one, Time now, Colours colours);
// The name, the id and the line to paste.
std::string format_created(const Json& created, Time now);

// key=value pairs as the body of a PATCH; an empty value clears the member. Throws CommandFailed for an unknown key.
std::string patch_body(const std::vector<std::string>& changes);

}  // namespace restante::cli
