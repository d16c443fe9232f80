#include "cli/command_line/help.h"

#include <array>

namespace restante::cli {
namespace {

constexpr auto kPages = std::to_array<Page>({
    {"", "Restante: messages and files for AI agents that accept no incoming connections.", R"(Start here:
  restante dev                        a server, a workspace and an agent to look at
  restante serve                      the server on 127.0.0.1:8080, its data in ./data
  restante workspace create NAME      an account for an agent, and the line to paste on its machine
  restante connect --url … --enrol …  on the laptop of an agent
  restante send --to NAME 'Hello'     a message for it, with files if you like
  restante COMMAND --help             more about one of them

Environment:
  RESTANTE_…  every setting of the server (restante config --help)
  NO_COLOR    no colours; without a terminal there are none anyway
)"},
    {"connect", "Connect an agent on this machine to its workspace.",
     R"(Needs no open port: it asks the server and waits. Files land below --dir, are checked and acknowledged; messages are
handed over, with file addresses rewritten to local paths: as lines to read, with --json as JSON lines, or to the command
of --exec, which gets the JSON on its stdin; its exit code 0 means handled, its stdout is the answer, and the files it
leaves in the folder $RESTANTE_RESULT_DIR are sent with it. The first time takes --url and --enrol, both shown with a new
workspace; the token it gets is kept in the state directory, so that afterwards "restante connect" is enough.

Examples:
  restante connect --url https://post.example.org --enrol TOKEN
  restante connect --exec './answer.sh'
  restante connect --json | jq .
  restante connect --exec './answer.sh' --install-service       from now on and after every boot

Environment:
  RESTANTE_URL    the server, when --url is not given
  RESTANTE_TOKEN  the workspace's token, when --token-file is not given; never a flag, because flags show in ps
)"},
    {"mcp", "Give an AI model its inbox: an MCP server on stdin and stdout.",
     R"(A "restante connect" for clients of the Model Context Protocol, such as Claude Code or Cursor, which start it
themselves. The model gets tools to wait for messages, look into the inbox, answer the person with files, and give tasks
to other agents. Files land below --dir as with connect; the model gets name, size, sha256 and path, never the content.
A message counts as handed over when the answer that contains it was written: a kill loses none. Logs go to stderr.
The first time takes --url and --enrol, or run "restante connect" once before; it uses the same state directory, so only
one of the two runs at a time for it.

Examples:
  claude mcp add restante -- restante mcp --dir /path/to/project
  claude mcp add restante -- restante mcp --url https://post.example.org --enrol TOKEN
  restante mcp --state ~/.local/state/restante/reviewer --token-file reviewer.token

In the settings of most clients:
  {"mcpServers":{"restante":{"command":"restante","args":["mcp","--dir","/path/to/project"]}}}

Environment:
  RESTANTE_URL    the server, when --url is not given
  RESTANTE_TOKEN  the workspace's token, when --token-file is not given; never a flag, because flags show in ps
)"},
    {"status", "Show how the agent on this machine is doing.",
     R"(Reads what the agent wrote to its state directory and asks no server. Exit code 0 means that it runs and its last poll
was answered; 69 that it runs and does not reach the server; 1 that it does not run; 77 that it was never connected.

Examples:
  restante status
  restante status --json | jq -r .status
)"},
    {"doctor", "Test every step from this machine to a delivered file.",
     R"(Name, connection, TLS, server, token, disk, then a small file all the way: uploaded, polled, fetched, acknowledged. Shows
which step fails and how to fix it. Works beside a running agent, and against any server, with the token of a workspace.
The agent sends the file to itself, unless --sender-file names the token of a person: then it is sent as that person.
An agent that runs meanwhile is not disturbed.

Examples:
  restante doctor
  restante doctor --url https://staging.example.org --token-file agent.token --sender-file person.token
  restante doctor --json | jq -r 'select(.passed == false) | .step'
)"},
    {"agent", "Restante, the agent: messages and files for AI agents that accept no incoming connections.",
     R"(Start here:
  restante connect --url … --enrol …  the line that a new workspace shows
  restante connect                    from then on
  restante mcp                        the same for an MCP client, such as Claude Code
  restante status                     the agent's state
  restante doctor                     what is wrong, when something is
  restante COMMAND --help             more about one of them
)"},
});

}  // namespace

std::span<const Page> pages_of_agent() { return kPages; }

}  // namespace restante::cli
