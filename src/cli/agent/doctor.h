// `restante doctor`: tests every step from this machine to a delivered file, with any server that keeps the contract:
// name, connection, TLS, the server, the token, the disk, then a small file all the way: uploaded, announced to a poll,
// fetched, acknowledged. Prints which step fails and how to fix it.
#pragma once
#include <string>

#include "cli/agent/setup.h"

namespace restante::cli {

struct DoctorOptions {
  AgentOptions agent;
  std::string sender_file;  // --sender-file: the token of a person or of the operator, to send the test file with
  bool json = false;
};

// Returns the exit code: 0 all is well; 69 the server cannot be reached, 77 the token is wrong, 1 anything else.
int doctor(const DoctorOptions& options);

}  // namespace restante::cli
