// The options of every command as plain values, and the function that runs it. command_line/ fills them in; each
// function is defined in the file of its noun. It returns the exit code and throws CommandFailed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

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
  std::string exec;                // --exec: a shell command, run once per message
  std::int64_t exec_timeout = 0;   // --exec-timeout: seconds after which it is ended; 0: no limit
  int attempts = 5;                // --attempts: how often a command that fails is run for one message
  bool json = false;               // --json: one JSON object a line on stdout
  bool reply_to_agents = false;    // --reply-to-agents: send the output of --exec to the agent whose message it answers
  int file_wait = 20;              // --file-wait: how many seconds a message waits for its files
  bool install_service = false;    // --install-service: as a systemd user unit, with the same flags
  bool uninstall_service = false;  // --uninstall-service: undoes it
};
Runs<ConnectOptions> connect;

// `restante mcp`: an agent whose messages and files are handed over to an MCP client on stdin and stdout. Ends when
// stdin ends or a signal comes.
struct McpOptions {
  AgentOptions agent;
  std::vector<std::string> allow;  // --allow: folders, beside --dir, from which files may be sent
  int file_wait = 20;              // --file-wait, seconds
};
Runs<McpOptions> mcp;

// `restante status`: shows the state of the agent on this machine, from the health file in its state directory; asks no
// server. Returns 0 when it runs and its last poll is recent; 69 when it runs but does not reach the server; 1 when it
// does not run; 77 when it has no token yet or the server took it away. Of several agents all are shown, and the
// largest code is returned.
struct StatusOptions {
  std::string state;
  std::string workspace;  // --workspace: only this agent
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

// `restante send`: sends a message and files to an agent. With --wait it waits until each file was acknowledged or is
// known to have failed, and a message without files until the agent has taken it; only an acknowledged file is called
// "delivered". With --reply it waits for the agent's answer and prints it. Returns 0 only when everything is sent and,
// with `wait`, every file was acknowledged, with `save`, every file of the answer was saved.
struct SendOptions {
  RemoteOptions remote;
  std::string to;  // id or name; empty: the one workspace the token may write to
  std::string text;
  std::vector<std::string> files;
  bool wait = false;
  bool reply = false;
  std::string save;          // --save: a folder for the files of the answer; empty: they stay on the server
  std::int64_t timeout = 0;  // of --wait and --reply, in seconds; 0: no limit
};
Runs<SendOptions> send;

// `restante chat`: a conversation with an agent at the terminal: what was written before, then lines from stdin as
// messages and the agent's answers as they come. Ends with stdin or a signal.
struct ChatOptions {
  RemoteOptions remote;
  std::string with;           // id or name; empty: the one workspace the token may write to
  std::string save;           // --save: a folder for files that come; empty: they stay on the server
  std::int64_t history = 20;  // how many messages to show first
};
Runs<ChatOptions> chat;

// `restante workspace create|list|show|remove|set`: the workspaces of a running server.
struct WorkspaceOptions {
  RemoteOptions remote;
  std::string workspace;  // id or name; of show, remove and set
  std::string name;       // of create, as the three below
  std::string role;
  std::string parent;                // id or name
  std::string push_url;              // a callback: messages are sent there instead of waiting in the inbox
  std::vector<std::string> changes;  // key=value, of set
};
Runs<WorkspaceOptions> create_workspace, list_workspaces, show_workspace, remove_workspace, set_workspace;

// `restante token list|create|revoke|admin`: the tokens of a workspace's agent, and the operator's token.
struct TokenOptions {
  RemoteOptions remote;
  std::string workspace;  // id or name; empty: enrolment tokens that are bound to no workspace
  std::string label;      // of create
  std::string token_id;   // of revoke: the id or the prefix that list shows
  bool rotate = false;    // of admin
};
Runs<TokenOptions> list_tokens, create_token, revoke_token, rotate_admin_token;

// `restante invite`: a line for an agent to paste, or with --sender a link for a person.
struct InviteOptions {
  RemoteOptions remote;
  bool sender = false;    // a person who may write to the workspace; otherwise an agent
  std::string workspace;  // id or name; without it the agent makes its own
  std::string label;
};
Runs<InviteOptions> invite;

// `restante uploads`: shows which files wait on the server, for whom, how old and in which state.
struct UploadsOptions {
  RemoteOptions remote;
  std::string workspace;  // id or name; empty: all
  std::string state = "waiting";
  bool stats = false;
};
Runs<UploadsOptions> uploads;

// `restante sweep`: deletes what is due now, instead of at the next run of the sweep.
Runs<RemoteOptions> sweep;

// `restante clock accept`: says that the server's clock is right although it was in doubt.
Runs<RemoteOptions> accept_clock;

// `restante delegate`: gives a task, with files, to another agent and, with --wait, waits for its result. Returns with
// `wait` 0 only when the task was completed.
struct DelegateOptions {
  RemoteOptions remote;
  std::string from;  // the caller's workspace: id or name; empty: that of the token
  std::string to;    // id or name
  std::string task;
  std::vector<std::string> files;
  std::string within;  // "30m", "6h", "3d"; empty: the server's default
  std::string id;      // chosen by the caller; empty: made by the server
  bool wait = false;
  std::string save;          // --save: a folder for the files of the result; empty: they stay on the server
  std::int64_t timeout = 0;  // of --wait, in seconds; 0: no limit
};
Runs<DelegateOptions> delegate;

// `restante tasks` and `restante task show|cancel|retry`: shows the tasks that agents gave each other, their state and
// why they are not done yet; cancels or repeats one.
struct TasksOptions {
  RemoteOptions remote;
  std::string workspace;  // id or name; empty: that of the token; with the operator's token: all
  std::string status = "in_flight";
  bool stats = false;
  bool watch = false;
};
Runs<TasksOptions> tasks;

struct TaskOptions {
  RemoteOptions remote;
  std::string id;
  std::string workspace;  // of the caller; empty: that of the token; with the operator's token: any
  std::string save;       // of show: a folder for the files of the result
  // For retry: sent instead of the task's own files.
  std::vector<std::string> files;
  bool no_files = false;
  std::string within;  // "30m", "6h", "3d"; empty: as long as before
};
Runs<TaskOptions> show_task, cancel_task, retry_task;

// `restante blobs status|migrate|finish|check`: where file content is stored, its move from one place to another, and
// whether it is what was sent. The server does the work; these commands send it requests, --wait and check show the
// progress, as a bar on a terminal. A check that is already running is shown instead of starting a second one; with
// --fix, when the running one does not repair, a new check follows it. It returns 0 when all is well or was repaired, 1
// when something is wrong and was not.
struct BlobsOptions {
  RemoteOptions remote;
  std::string to;
  std::string rate;  // "10MB" a second; empty: unchanged, at first no limit
  bool wait = false;
  bool fix = false;  // check
};
Runs<BlobsOptions> blobs_status, blobs_migrate, blobs_finish, blobs_check;

// `restante blobs adopt`: makes this installation the owner of a directory or a bucket, when the operator asks for it.
// Works on the database and the place directly, because a server may refuse to start on them. On SQLite it refuses
// while a server runs.
struct AdoptOptions {
  ConfigSources sources;  // as for serve
  std::string place;      // empty: where new files go
  bool force = false;     // also a place that another installation has marked
  bool new_id = false;    // instead: the database is a copy, and becomes a separate installation
};
Runs<AdoptOptions> blobs_adopt;

// `restante restored`: an older copy of the database was restored; from now on rows get numbers that were never given.
// Works on the database directly. On SQLite it refuses while a server runs.
struct RestoredOptions {
  ConfigSources sources;  // the data directory is found as by serve
};
Runs<RestoredOptions> restored;

// `restante migrate up|down|status`: the schema of the database. Works on the database directly. On SQLite up and down
// refuse while a server has it open; on PostgreSQL they use the same lock as servers that migrate. status only reads.
struct MigrateOptions {
  ConfigSources sources;  // the data directory is found as by serve
  bool json = false;      // of status
};
Runs<MigrateOptions> migrate_up, migrate_down, migrate_status;

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
