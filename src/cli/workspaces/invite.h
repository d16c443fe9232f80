// `restante invite`: a line for an agent to paste, or with --sender a link for a person.
#pragma once
#include <string>

#include "cli/remote/remote.h"

namespace restante::cli {

struct InviteOptions {
  RemoteOptions remote;
  bool sender = false;    // a person who may write to the workspace; otherwise an agent
  std::string workspace;  // id or name; without it the agent makes its own
  std::string label;
};

// Returns the exit code.
int invite(const InviteOptions& options);

std::string format_invite(const Json& invite, Time now);

// The text to paste on the agent's machine: the line that also fetches the program, when there is one, and the short
// one.
std::string lines_to_paste(const std::string& connect, const std::string& install);

}  // namespace restante::cli
