// The options of every command as plain values, and the function that runs it. command_line/ fills them in; each
// function is defined in the file of its noun. It returns the exit code and throws CommandFailed.
#pragma once
#include <cstdint>
#include <string>

#include "server/config/config.h"

namespace restante::cli {

template <class Options>
using Runs = int(const Options& options);

// Of every command that sends requests to a server.
struct RemoteOptions {
  std::string url;         // --url or RESTANTE_URL; empty: the default of a server on this machine
  std::string token;       // RESTANTE_TOKEN only: an argument would show in `ps`
  std::string token_file;  // --token-file; wins over RESTANTE_TOKEN
  std::string data;        // --data: where admin.token is looked for; empty: RESTANTE_DATA or ./data, for loopback only
  bool json = false;       // --json: print the server's answer unchanged
};

// Of connect, mcp and doctor. Empty means not given; then the value in the state directory counts.
struct AgentOptions {
  std::string url;         // --url or RESTANTE_URL
  std::string token;       // RESTANTE_TOKEN only: an argument would show in `ps`
  std::string token_file;  // --token-file; wins over RESTANTE_TOKEN
  std::string enrol;       // --enrol: an enrolment token, valid once and for a day
  std::string workspace;   // --workspace; default: that of the token
  std::string dir;         // --dir: where files land, under .molecule/chat-uploads
  std::string state;       // --state: cursor, token and files
};

// `restante connect`: the agent. Polls, downloads files, hands over, acknowledges.
struct ConnectOptions {
  AgentOptions agent;
  std::string exec;              // --exec: a shell command, run once per message
  bool json = false;             // --json: one JSON object a line on stdout
  bool reply_to_agents = false;  // --reply-to-agents: send the output of --exec to the agent whose message it answers
  int file_wait = 20;            // --file-wait: how many seconds a message waits for its files
  bool install_service = false;  // --install-service: as a systemd user unit, with the same flags
};
Runs<ConnectOptions> connect;

// `restante mcp`: an agent whose messages and files are handed over to an MCP client on stdin and stdout. Ends when
// stdin ends or a signal comes.
struct McpOptions {
  AgentOptions agent;
  int file_wait = 20;  // --file-wait, seconds
};
Runs<McpOptions> mcp;

// `restante status`: shows the state of the agent on this machine, from the health file in its state directory; asks no
// server. Returns 0 when it runs and its last poll is recent; 69 when it runs but does not reach the server; 1 when it
// does not run; 77 when it has no token yet.
struct StatusOptions {
  std::string state;
  bool json = false;
};
Runs<StatusOptions> status;

// `restante doctor`: tests every step from this machine to a delivered file, with any server that keeps the contract:
// name, connection, TLS, the server, the token, the disk, then a small file all the way: uploaded, announced to a poll,
// fetched, acknowledged. Prints which step fails and how to fix it. Returns 0 when all is well, 69 when the server
// cannot be reached, 77 when the token is wrong, 1 for anything else.
struct DoctorOptions {
  AgentOptions agent;
  std::string sender_file;  // --sender-file: the token of a person or of the operator, to send the test file with
  bool json = false;
};
Runs<DoctorOptions> doctor;

// `restante move`: moves all rows of one database into another, and the files of the data directory, while no server
// runs on either. Works on the databases directly. Progress goes to stderr, as a bar on a terminal and as plain lines
// otherwise; the report goes to stdout.
struct MoveOptions {
  std::string from;     // sqlite://PATH or postgres://…
  std::string to;       // likewise
  std::string data;     // the old server's directory; empty: beside the SQLite file
  std::string data_to;  // the new server's; empty: the same
  bool dry_run = false;
  bool verify = false;  // only compare
  bool json = false;
};
Runs<MoveOptions> move;

// `restante serve`: the server, in the foreground, until SIGTERM or SIGINT. Prints one line on stdout once it accepts
// connections, everything else goes to stderr.
Runs<ConfigSources> serve;

// `restante dev`: a server on loopback with a demo workspace and an agent that answers, for trying it out.
struct DevOptions {
  std::uint16_t port = 8080;  // 0 picks a free one
  std::string data = "./data";
  bool no_agent = false;  // uploads stay waiting
};
Runs<DevOptions> dev;

// `restante config`: prints the effective configuration, or an example of one, to stdout; warnings to stderr.
struct ConfigOptions {
  ConfigSources sources;
  bool example = false;  // --example: nothing is loaded, so it works even when the file is invalid
};
Runs<ConfigOptions> config;

// The configuration from these sources and the variables of this process. Throws ConfigError.
Config effective_config(ConfigSources sources);

}  // namespace restante::cli
