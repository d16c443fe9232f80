// Runs a shell command for one delivery: its text on stdin, its stdout taken, its stderr ours. The command runs under a
// small shell that writes down how it ended, so that a kill of the agent neither stops it nor makes it run twice: the
// next agent finds it still running and waits, or finds its end and takes that. What is left open is a kill of that
// shell too (the machine, or everything at once) between the command's last effect and the note of it; then it runs
// again. The command gets a process group of its own, so that its children end with it when the agent is told to stop.
// One call at a time for each folder, on any thread.
#pragma once
#include <string>

#include "agent/stop.h"

namespace restante::agent {

struct Job {
  std::string command;
  std::string folder;  // made when missing; holds the runs whose end is not forgotten
  std::string id;      // the same for the same delivery
  std::string input;
};

struct Ran {
  enum class How { exited, killed, not_started, stopped } how = How::not_started;
  int code = 0;         // the exit code
  std::string output;   // at most 256 KiB
  bool cut = false;     // it said more than that
  std::string trouble;  // unless it exited: why
};

// `stopped` when the agent was told to stop first: the command was told too, and killed after a few seconds. The end of
// a run is kept until it is forgotten: asked for again, it is given again and nothing runs.
Ran run_command(const Job& job, const Stop& stop);
void forget_run(const std::string& folder, const std::string& id);

}  // namespace restante::agent
