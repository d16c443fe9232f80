// Runs a shell command with text on its stdin and takes its stdout; stderr is ours. The command gets a process group of
// its own, so that its children end with it when the agent is told to stop. One call at a time, on any thread.
#pragma once
#include <string>

#include "agent/stop.h"

namespace restante::agent {

struct Ran {
  enum class How { exited, killed, not_started, stopped } how = How::not_started;
  int code = 0;        // the exit code, the signal, or errno
  std::string output;  // at most 256 KiB
  bool cut = false;    // it said more than that
};

// `stopped` when the agent was told to stop first: the command was told too, and killed after a few seconds.
Ran run_command(const std::string& command, const std::string& input, const Stop& stop);

}  // namespace restante::agent
