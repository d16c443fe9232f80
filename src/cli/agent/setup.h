// Shared by the commands for an agent's machine (connect, doctor, status, mcp): the state directory, and how flags,
// environment and the state of earlier runs become the agent's settings.
#pragma once
#include <string>
#include <vector>

#include "agent/agent.h"
#include "cli/options.h"

namespace restante::cli {

// An agent that was connected on this machine by this user, with its state directory.
struct KnownAgent {
  std::string folder;
  agent::StateView view;  // has a state
};
std::vector<KnownAgent> known_agents();

// The options with the state directory of the agent that is meant: that of --state; that of the workspace of
// --workspace, of the enrolment token or of the token, for which the server is asked; or the only one there is. Each
// workspace has its own, so that several agents can run on one machine. Also with the server, if only that state knows
// it. Uses no enrolment token. Throws CommandFailed when several agents are known and none is named.
AgentOptions with_state(AgentOptions options);

// --state, or the default directory.
std::string state_folder(const AgentOptions& options);

// What is never sent to others: the state directory, with the token in it, those of other agents of this user, and the
// file of --token-file.
std::vector<std::string> secret_paths(const AgentOptions& options);

// --dir, or /workspace where that can be written to, or the current directory.
std::string landing_folder(const AgentOptions& options);

// Throws CommandFailed when the options contradict each other, or name something that cannot be used.
void check_options(const AgentOptions& options);
agent::Settings settings_from(const AgentOptions& options, const agent::State& remembered);

// The first line of the file. Throws CommandFailed when there is none.
std::string read_token_file(const std::string& path);

// The state directory, locked, and the state in it. Throws CommandFailed; exit code 75 when another agent uses it.
struct Opened {
  agent::StateDirectory directory;
  agent::State state;
};
Opened open_state_directory(const AgentOptions& options);

// From now on SIGTERM, SIGINT and SIGHUP request the stop; SIGPIPE is ignored. Returns the same object every time.
agent::Stop& stop_on_signals();

int exit_code(agent::End end);

// What `restante status` finds in the state directory.
struct Condition {
  int code = 0;
  std::string word;      // connected, unreachable, stopped, revoked, removed, not set up
  std::string sentence;  // what to do; may be empty
};
Condition condition_of(const agent::StateView& state_view, Time now);

}  // namespace restante::cli
