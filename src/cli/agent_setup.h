// What the commands of the agent's side (connect, doctor, status, mcp) share: their options, where the state is kept,
// and how flags, environment and what is remembered from the first time become the agent's settings.
#pragma once
#include <string>

#include "agent/agent.h"

namespace restante::cli {

// Empty means not given; what the state directory remembers from the first time then counts.
struct AgentOptions {
  std::string url;         // --url or RESTANTE_URL
  std::string token;       // RESTANTE_TOKEN only: an argument would show in `ps`
  std::string token_file;  // --token-file; wins over RESTANTE_TOKEN
  std::string enrol;       // --enrol: an enrolment token, good once and for a day
  std::string workspace;   // --workspace; default: the token's own
  std::string dir;         // --dir: where files land, under .molecule/chat-uploads
  std::string state;       // --state: cursor, token and map of files
};

// --state, or where it is by default.
std::string state_folder(const AgentOptions& options);

// --dir, or /workspace where that can be written to, or the current directory.
std::string landing_folder(const AgentOptions& options);

// Throws CommandFailed when the options make no sense together, or what they name cannot be used.
void check_options(const AgentOptions& options);
agent::Settings settings_from(const AgentOptions& options, const agent::State& remembered);

// The first line of the file. Throws CommandFailed when there is none.
std::string read_token_file(const std::string& path);

// The state directory, locked, with what it holds. Throws CommandFailed; 75 when another agent lives there.
struct Opened {
  agent::StateDirectory directory;
  agent::State state;
};
Opened open_state_directory(const AgentOptions& options);

// SIGTERM, SIGINT and SIGHUP request the stop, whenever they come; SIGPIPE is ignored. The same object every time.
agent::Stop& stop_on_signals();

int exit_code(agent::End end);

}  // namespace restante::cli
