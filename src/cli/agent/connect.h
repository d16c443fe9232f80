// `restante connect`: the agent. Polls, downloads files, hands over, acknowledges.
#pragma once
#include <string>

#include "cli/agent/setup.h"

namespace restante::cli {

struct ConnectOptions {
  AgentOptions agent;
  std::string exec;              // --exec: a shell command, run once per message
  bool json = false;             // --json: one JSON object a line on stdout
  bool reply_to_agents = false;  // --reply-to-agents: send the output of --exec to the agent whose message it answers
  int file_wait = 20;            // --file-wait: how many seconds a message waits for its files
  bool install_service = false;  // --install-service: as a systemd user unit, with the same flags
};

// Returns the exit code. Throws CommandFailed.
int connect(const ConnectOptions& options);

}  // namespace restante::cli
