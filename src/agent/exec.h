// Runs a shell command for one delivery: its text on stdin, its stdout taken, its stderr ours. The command runs under a
// small shell that writes down how it ended, so that a kill of the agent neither stops it nor makes it run twice: the
// next agent finds it still running and waits, or finds its end and takes that. What is left open is a kill of that
// shell too (the machine, or everything at once) between the command's last effect and the note of it; then it runs
// again. The command gets a process group of its own, so that its children end with it when the agent is told to stop
// or nobody wants its result any more. What it leaves in the folder RESTANTE_RESULT_DIR names goes with its answer;
// that folder is empty when it begins. One call at a time for each folder, on any thread.
#pragma once
#include <string>
#include <vector>

#include "agent/stop.h"

namespace restante::agent {

struct CommandRun {
  std::string command;
  std::string folder;  // made when missing; holds the runs whose end is not forgotten
  std::string id;      // the same for the same delivery
  std::string input;
};

struct CommandResult {
  enum class How { exited, killed, not_started, stopped, given_up } how = How::not_started;
  int code = 0;         // the exit code, as a shell has it: 128 and the signal's number after one
  std::string output;   // at most 256 KiB
  bool cut = false;     // it said more than that
  std::string trouble;  // unless it exited: why; when it was to end early: why it could not be
};

// `stopped` when the agent was told to stop first, `given_up` when `give_up` was requested: the command was told too,
// with all its children, and killed after a few seconds; unless it came to a good end within them, which then counts.
// One of an earlier agent that has left no number is let be, with `trouble`.
// The end of a run is kept until it is forgotten: asked for again, it is given again and nothing runs.
// With `give_up` requested before, nothing is started.
CommandResult run_command(const CommandRun& job, const Stop& stop, const Stop& give_up);
// "exit code 4"; "exit code 143 (as after SIGTERM)": whether there was a signal or the command chose that number, no
// shell tells.
std::string describe_code(int code);
// It is under way, or its end is kept.
bool has_run(const std::string& folder, const std::string& id);
void forget_run(const std::string& folder, const std::string& id);
// Where the command of this run leaves files. forget_run() lets it be unless it is empty.
std::string result_folder(const std::string& folder, const std::string& id);
// What it said, whole, among the files of its run; the name of the file there, empty when that could not be.
std::string attach_output(const std::string& folder, const std::string& id);
// Forgets every run but those with these ids, those that still run and those of these result folders: a kill may have
// come before forget_run().
void forget_other_runs(const std::string& folder, const std::vector<std::string>& ids,
                       const std::vector<std::string>& result_folders = {});

}  // namespace restante::agent
