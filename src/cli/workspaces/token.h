// `restante token list|create|revoke|admin`: the tokens of a workspace's agent, and the operator's token.
#pragma once
#include <string>

#include "cli/remote/remote.h"
#include "cli/terminal/table.h"

namespace restante::cli {

struct TokenOptions {
  enum class Action { list, create, revoke, admin } action = Action::list;
  RemoteOptions remote;
  std::string workspace;  // id or name; empty: enrolment tokens that are bound to no workspace
  std::string label;      // of create
  std::string token_id;   // of revoke: the id or the prefix that list shows
  bool rotate = false;    // of admin
};

// Returns the exit code.
int token(const TokenOptions& options);

std::string format_tokens(const Json& list, Time now, Colours colours);
// The id of the one token with that id, or whose secret begins with it. Throws CommandFailed when there is none or
// several.
std::string pick_token(const Json& list, const std::string& id_or_prefix);

}  // namespace restante::cli
