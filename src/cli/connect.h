// `restante connect`: the agent's side on the laptop. Polls, fetches, lands files, hands over, acknowledges.
#pragma once
#include <string>

namespace restante::cli {

// Empty means not given; what the state directory remembers from the first time then counts.
struct ConnectOptions {
  std::string url;         // --url or RESTANTE_URL
  std::string token;       // RESTANTE_TOKEN only: an argument would show in `ps`
  std::string token_file;  // --token-file; wins over RESTANTE_TOKEN
  std::string enrol;       // --enrol: an enrolment token, good once and for minutes
  std::string workspace;   // --workspace; default: the token's own
  std::string dir;         // --dir: where files land, under .molecule/chat-uploads
  std::string state;       // --state: cursor, token and map of files
  std::string exec;        // --exec: a shell command, run once per message
  bool json = false;       // --json: one JSON object a line on stdout
};

// Returns the exit code.
int connect(const ConnectOptions& options);

}  // namespace restante::cli
