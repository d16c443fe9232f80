// Runs a shell command for one delivery: the delivery on its stdin, its stdout is the answer, its stderr goes to ours
// and its last lines are kept. A small shell, the runner, starts the command and records its exit code, so that a kill
// of the agent neither stops the command nor makes it run twice: the next agent process finds it running and waits, or
// finds the recorded end. One case is left: when the runner is killed too (the machine, or all processes at once)
// between the command's last effect and the record of its end, the command runs again. The command has its own process
// group, so that its children end with it when stop is requested or its result is not wanted any more. Files that it
// leaves in the folder RESTANTE_RESULT_DIR are sent with its answer; the folder is empty when the command begins. One
// call at a time for each folder, on any thread.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "agent/stop.h"

namespace restante::agent {

struct CommandRun {
  std::string command;
  std::string folder;  // created when missing; has the files of all runs that are not forgotten
  std::string id;      // the same for the same delivery
  std::string input;
  std::chrono::milliseconds longest{0};                     // then the command is ended; 0: no limit
  std::function<void(std::string_view line)> print_line{};  // empty: nothing is printed
};

struct CommandResult {
  enum class How { exited, killed, not_started, stopped, given_up } how = How::not_started;
  int code = 0;         // exit code as a shell returns it: 128 + the signal's number after a signal
  std::string output;   // at most 256 KiB
  bool cut = false;     // its output was longer
  std::string trouble;  // why it did not exit, or why it could not be ended early
  std::string errors;   // the last lines of its stderr; at most 2 KiB
};

// Why the command cannot be run: its first word is a file that is missing or not executable, or no command, or a shell
// cannot parse it. Empty when nothing is wrong that can be seen before it runs.
std::string check_command(const std::string& command);

// `stopped` when `stop` was requested first, `given_up` when `give_up` was: the command and all its children got
// SIGTERM, and SIGKILL after a few seconds; so it is ended, as `killed`, when it runs longer than `longest`. If the
// command ended with exit code 0 in that time, that result counts. A command of an earlier agent process that has
// recorded no process id is left alone, with `trouble`. The end of a run is kept until it is forgotten: a second call
// with the same id returns it and runs nothing. When `give_up` was requested before the call, nothing is started.
CommandResult run_command(const CommandRun& job, const Stop& stop, const Stop& give_up);
// "exit code 4"; "exit code 143 (as after SIGTERM)": the shell's code does not show whether there was a signal or the
// command chose that number.
std::string describe_code(int code);
// True when the run is in progress, or its end is kept.
bool has_run(const std::string& folder, const std::string& id);
void forget_run(const std::string& folder, const std::string& id);
// The folder where the command of this run leaves files. forget_run() deletes it only when it is empty.
std::string result_folder(const std::string& folder, const std::string& id);
// Adds the whole output to the run's result files. Returns the file's name there; empty when that failed.
std::string attach_output(const std::string& folder, const std::string& id);
// Forgets every run except those with these ids, those in progress and those of these result folders. For runs that a
// kill left before forget_run().
void forget_other_runs(const std::string& folder, const std::vector<std::string>& ids,
                       const std::vector<std::string>& result_folders = {});

}  // namespace restante::agent
