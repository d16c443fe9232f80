// `restante doctor`: every step from this machine to a delivered file, one after the other, against any server that
// keeps the contract: name, connection, TLS, the server, the token, the disk, then a small file all the way: uploaded,
// announced to a poll, fetched, acknowledged. Says which step fails and how to fix it.
#pragma once
#include <string>

#include "cli/agent_setup.h"

namespace restante::cli {

struct DoctorOptions {
  AgentOptions agent;
  std::string sender_file;  // --sender-file: the token of a person or of the operator, to send the test file with
  bool json = false;
};

// Returns the exit code: 0 all is well; 69 the server is not reached, 77 the token is the reason, 1 anything else.
int doctor(const DoctorOptions& options);

}  // namespace restante::cli
