// `restante status`: shows the state of the agent on this machine, from the health file in its state directory; asks no
// server.
#pragma once
#include <string>

#include "agent/state_directory.h"
#include "cli/terminal/table.h"

namespace restante::cli {

struct StatusOptions {
  std::string state;
  bool json = false;
};

// Returns the exit code: 0 it runs and its last poll is recent; 69 it runs but does not reach the server; 1 it does not
// run; 77 it has no token yet. Throws CommandFailed.
int status(const StatusOptions& options);

struct Condition {
  int code = 0;
  std::string word;      // connected, unreachable, stopped, not set up
  std::string sentence;  // what to do; may be empty
};
Condition condition_of(const agent::StateView& state_view, Time now);

}  // namespace restante::cli
