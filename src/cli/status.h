// `restante status`: how the agent of this machine is doing, from what it notes in its state directory; asks no server.
#pragma once
#include <string>

#include "agent/state_directory.h"
#include "cli/table.h"

namespace restante::cli {

struct StatusOptions {
  std::string state;
  bool json = false;
};

// Returns the exit code: 0 it runs and its last poll is fresh; 69 it runs but does not reach the server; 1 it does not
// run; 77 it has no token yet. Throws CommandFailed.
int status(const StatusOptions& options);

struct Condition {
  int code = 0;
  std::string word;      // connected, unreachable, stopped, not set up
  std::string sentence;  // what to do, when there is something
};
Condition condition_of(const agent::StateView& state_view, Time now);

}  // namespace restante::cli
