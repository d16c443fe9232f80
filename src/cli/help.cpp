#include "cli/help.h"

#include <algorithm>
#include <array>

namespace restante::cli {
namespace {

struct Page {
  std::string_view command;
  std::string_view summary;
  std::string_view details;
  enum class Speaks { not_at_all, to_server } speaks = Speaks::not_at_all;
};
using Speaks = Page::Speaks;

constexpr std::string_view kExitCodes = R"(
Exit codes:
  0   done
  1   failed; the message says why
  64  the command line is wrong
  69  the server cannot be reached, or an address or store cannot be had
  75  try again later; nothing needs fixing
  77  the token is missing, wrong or not allowed to do this
  78  a setting is wrong; the message names it and where it came from
)";

constexpr std::string_view kRemote = R"(
Server and token:
  RESTANTE_URL    the server, when --url is not given; default: http://127.0.0.1:8080
  RESTANTE_TOKEN  the token, when --token-file is not given; never a flag, because flags show in ps
  On the server's own machine neither is needed: the token is read from admin.token in ./data, RESTANTE_DATA or --data.
)";

constexpr auto kPages = std::to_array<Page>({
    {"", "Restante: mail for AI agents nobody can call.", R"(Start here:
  restante dev                        a server, a workspace and an agent to look at
  restante serve                      the server on 127.0.0.1:8080, its data in ./data
  restante workspace create NAME      a place for an agent, and the line to paste on its machine
  restante connect --url … --enrol …  on the laptop of an agent
  restante send --to NAME 'Hello'      a message for it, with files if you like
  restante COMMAND --help             more about one of them

Environment:
  RESTANTE_…  every setting of the server (restante config --help)
  NO_COLOR    no colours; without a terminal there are none anyway
)"},
    {"serve", "Run the server until it is told to stop.",
     R"(Once it accepts connections it prints one line on stdout, "restante ready on http://…"; logs go to stderr, one JSON
object a line. SIGTERM or SIGINT stops it after the requests under way (timeouts.drain at most), a second one at once;
SIGHUP reads the TLS files again. The operator's token is made at first start in <data>/admin.token.

Examples:
  restante serve
  restante serve --listen 127.0.0.1:0 --data /var/lib/restante
  restante serve --config restante.toml --set log.level=warn --set timeouts.drain=10s
  restante serve --listen 0.0.0.0:443 --public-url https://post.example.org \
      --set tls.certificate=chain.pem --set tls.key=key.pem

Settings:
  Defaults, then the file, then RESTANTE_… variables, then flags: the later wins.
  restante config --example lists every key that --set takes, with its default and its reason.

Environment:
  RESTANTE_CONFIG       the file, when --config is not given
  RESTANTE_ADMIN_TOKEN  the operator's token, 43 characters of base64url
  RESTANTE_SERVER_KEY   a secret like it that seals push agents' secrets, for servers that share no data directory
  RESTANTE_<KEY>        any setting: RESTANTE_LOG_LEVEL=warn, RESTANTE_LISTEN=127.0.0.1:80,[::1]:80
)"},
    {"dev", "Run a server with a demo workspace and an agent that answers.",
     R"(Everything on loopback and under one directory: a server, a workspace called "Demo agent", and an agent that answers
each file with its name, size and sha256. Prints an address to open in a browser, already signed in. Not for the open
network.

Examples:
  restante dev
  restante dev --port 0 --data /tmp/try
  restante dev --no-agent            files stay waiting, to be fetched by hand or by your own agent
)"},
    {"connect", "Connect an agent on this machine to its workspace.",
     R"(Needs no open port: it asks the server and waits. Files land below --dir, are checked and acknowledged; messages are
handed over, with file addresses rewritten to local paths: as lines to read, with --json as JSON lines, or to the command
of --exec, which gets the JSON on its stdin; its exit code 0 means handled, its stdout is the answer, and the files it
leaves in the folder $RESTANTE_RESULT_DIR go with it. The first time takes --url and --enrol, both shown with a new
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
    {"mcp", "Give an AI model its mailbox: an MCP server on stdin and stdout.",
     R"(A "restante connect" for clients of the Model Context Protocol, such as Claude Code or Cursor, which start it
themselves. The model gets tools to wait for messages, look into the inbox, answer the person with files, and give tasks
to other agents. Files land below --dir as with connect; the model is told name, size, sha256 and path, never the bytes.
A message counts as handed over when the answer that carries it was written out: a kill loses none. Logs go to stderr.
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
     R"(Reads what the agent notes in its state directory and asks no server. Exit code 0 means that it runs and its last poll
was answered; 69 that it runs and does not reach the server; 1 that it does not run; 77 that it was never connected.

Examples:
  restante status
  restante status --json | jq -r .status
)"},
    {"doctor", "Test every step from this machine to a delivered file.",
     R"(Name, connection, TLS, server, token, disk, then a small file all the way: uploaded, polled, fetched, acknowledged. Says
which step fails and how to fix it. Works beside a running agent, and against any server, with the token of a workspace.
The agent sends the file to itself, unless --sender-file names the token of a person: then it goes as a person's would.
An agent that runs meanwhile is not bothered.

Examples:
  restante doctor
  restante doctor --url https://staging.example.org --token-file agent.token --sender-file person.token
  restante doctor --json | jq -r 'select(.passed == false) | .step'
)"},
    {"agent", "Restante, the agent's side: mail for AI agents nobody can call.", R"(Start here:
  restante connect --url … --enrol …  the line that a new workspace shows
  restante connect                    from then on
  restante mcp                        the same for an MCP client, such as Claude Code
  restante status                     how it goes
  restante doctor                     what is wrong, when something is
  restante COMMAND --help             more about one of them
)"},
    {"workspace", "Create, list, show, change and remove workspaces.",
     R"(A workspace is one agent's place on the server: its inbox, its files, its tokens.

Examples:
  restante workspace create 'Research laptop'
  restante workspace list
  restante workspace set 'Research laptop' role='reads papers'
)",
     Speaks::to_server},
    {"workspace create", "Create a workspace and print the line to paste on its agent's machine.",
     R"(Examples:
  restante workspace create 'Research laptop'
  restante workspace create Reviewer --role 'reads pull requests' --parent 'Research laptop'
  restante workspace create Callable --push-url https://agent.example.org/hook
  restante workspace create Build --json | jq -r .connection.connect_command

The line carries an enrolment token: it works once, within 24 hours, so no lasting secret lands in a shell's history.
)",
     Speaks::to_server},
    {"workspace list", "List workspaces: who is there, and when they were last heard of.",
     R"(Examples:
  restante workspace list
  restante workspace list --json | jq -r '.[] | select(.status == "offline") | .name'
)",
     Speaks::to_server},
    {"workspace show", "Show one workspace.",
     R"(Examples:
  restante workspace show 'Research laptop'
  restante workspace show 01999a3c-7a10-7c52-b2a5-3f0c6d1f9b42 --json
)",
     Speaks::to_server},
    {"workspace remove", "Remove a workspace and revoke its tokens.",
     R"(Its messages, files and tasks are not deleted: they are evidence and leave by their own retention. The id answers 410
from now on. On a terminal you are asked first; a script is taken at its word.

Examples:
  restante workspace remove 'Research laptop'
)",
     Speaks::to_server},
    {"workspace set", "Change what is written about a workspace.",
     R"(Examples:
  restante workspace set Reviewer name='Reviewer (night)' role='reads pull requests'
  restante workspace set Reviewer parent_id=                    no parent any more
  restante workspace set Reviewer delivery_mode=push url=https://agent.example.org/hook
  restante workspace set Reviewer agent_card='{"name":"Reviewer"}'

With a workspace's own token only name, role and agent_card can be changed; the rest is the operator's.
)",
     Speaks::to_server},
    {"token", "List, create and revoke tokens, and replace the operator's own.",
     R"(Examples:
  restante token list --workspace 'Research laptop'
  restante token revoke --workspace 'Research laptop' q3vX0b-9
  restante token admin --rotate
)",
     Speaks::to_server},
    {"token list", "List the tokens of a workspace: for what, when made, when last used.",
     R"(The server keeps no secrets, only their fingerprints: of each token the first 8 characters are shown.

Examples:
  restante token list --workspace 'Research laptop'
  restante token list --workspace 'Research laptop' --json
  restante token list                              invitations (restante invite) that no agent has used yet
)",
     Speaks::to_server},
    {"token create", "Make another token for a workspace's agent and print it, once.",
     R"(For an agent that cannot run "restante connect"; for one that can, restante invite is better, since its line works only
once. The token alone goes to stdout. At most 50 live ones a workspace.

Examples:
  restante token create --workspace 'Research laptop' --label cron > agent.token
  restante token create --workspace 'Research laptop' --json | jq -r .auth_token
)",
     Speaks::to_server},
    {"token revoke", "Revoke a token at once.",
     R"(What it has open (a held poll, a stream) ends within a second.

Examples:
  restante token revoke --workspace 'Research laptop' q3vX0b-9
  restante token revoke --workspace 'Research laptop' 01999a3c-7a10-7c52-b2a5-3f0c6d1f9b42
)",
     Speaks::to_server},
    {"token admin", "Replace the operator's token.",
     R"(The running server writes a new admin.token and forgets the old one in the same moment; whoever was signed in to the page
with the old one is signed out. A token that was set with RESTANTE_ADMIN_TOKEN is changed where it was set.

Examples:
  restante token admin --rotate
  restante token admin --rotate --url https://post.example.org --token-file admin.token > admin.token.new
)",
     Speaks::to_server},
    {"invite", "Make a line for an agent to paste, or a link for a person.",
     R"(Without --sender: an enrolment token for an agent, good once and for 24 hours. With --sender: a link with which a person
can write and send files to one workspace and sees that chat alone; it stays good until it is revoked.

Examples:
  restante invite --workspace 'Research laptop'        the agent again, on another machine
  restante invite                                      an agent that gets a workspace of its own
  restante invite --sender --workspace 'Research laptop' --label Ada
)",
     Speaks::to_server},
    {"send", "Send a message and files to an agent, wherever it is.",
     R"(The server keeps both until the agent comes for them. Files are sent with a progress bar, and again from the start if the
connection breaks, without being kept twice. With --wait you see each file being fetched and then acknowledged: only then
it is called delivered, and only then the exit code is 0. A person's token (restante invite --sender) needs no --to.

Examples:
  restante send --to 'Research laptop' 'Please summarise these.' --file a.pdf --file b.png
  restante send --to 'Research laptop' --file build.log --wait --timeout 600
  restante send --to 'Research laptop' --file a.pdf --wait --json | jq -r '.files[] | .name + " " + .state'
)",
     Speaks::to_server},
    {"uploads", "Show what files wait, for whom, how old, and in which state.",
     R"(A file that was fetched but not acknowledged may be lost on the agent's side; one that was never fetched waits for an
agent that has not asked yet. Both leave the server when they expire. A damaged one is no longer what was sent: the
server's disk has changed or lost its bytes, and it has to be sent again.

Examples:
  restante uploads
  restante uploads --workspace 'Research laptop' --state all
  restante uploads --stats
  restante uploads --state failed --json
  restante uploads --state damaged
)",
     Speaks::to_server},
    {"delegate", "Give an agent a task, wherever it is, and wait for its result if you like.",
     R"(The task is kept until the agent comes for it, for days if --within says so, and its result comes back to the workspace
that gave it. Files go along and come back. With --wait the result is printed, and the exit code is 0 only when the task
was completed; while it is not, it says why.

Examples:
  restante delegate --from Planner --to Reviewer 'Review this patch.' --file fix.patch --wait
  restante delegate --to Reviewer 'Summarise the night.' --within 3d --token-file planner.token
  restante delegate --from Planner --to Build 'make release' --id release-42 --json
)",
     Speaks::to_server},
    {"tasks", "Show what agents have asked of each other, and why it is not done yet.",
     R"(Of the operator all of them, with the token of a workspace or --workspace those it gave or got.

Examples:
  restante tasks
  restante tasks --watch
  restante tasks --workspace Reviewer --status stuck
  restante tasks --stats
  restante tasks --json | jq -r '.delegations[] | .delegation_id + " " + .status'
)",
     Speaks::to_server},
    {"task", "Show, cancel or repeat one task.",
     R"(Examples:
  restante task show release-42
  restante task cancel release-42
  restante task retry release-42
)",
     Speaks::to_server},
    {"task show", "Show one task: its state, its three clocks, its result and its history.",
     R"(Three clocks, because a living process is not a living task: when its agent was last seen, when it last said that it
works on this task, and when it last told of progress.

Examples:
  restante task show release-42
  restante task show release-42 --json | jq -r .result
)",
     Speaks::to_server},
    {"task cancel", "Cancel a task that has not ended: it has failed at once.",
     R"(Its agent is told with its next heartbeat; an answer it gives all the same is kept as a late one.

Examples:
  restante task cancel release-42
)",
     Speaks::to_server},
    {"task retry", "Give a task that has ended once more, to the same agent.",
     R"(A new task with an id of its own, which names the old one.

Examples:
  restante task retry release-42
)",
     Speaks::to_server},
    {"sweep", "Remove now what is due: acknowledged files past their retention, expired ones, bytes nobody owns.",
     R"(The server does this by itself at start and every few minutes.

Examples:
  restante sweep
  restante sweep --json
)",
     Speaks::to_server},
    {"blobs", "Where the bytes of files are kept: look, change over to another place, check.",
     R"(Bytes are files in the data directory (dir), rows of the database (inline) or objects of a bucket (s3). They change over
from one to another while the server runs: migrate, wait until everything is there, finish.

Examples:
  restante blobs status
  restante blobs migrate --to s3 --rate 10MB --wait
  restante blobs finish
)"},
    {"blobs status", "Show what is kept in which place, and how far a change-over is.",
     R"(Second copies exist while bytes change over: a file that is damaged or missing in one place is then read from the other.

Examples:
  restante blobs status
  restante blobs status --json | jq .migration
)",
     Speaks::to_server},
    {"blobs migrate", "Move all bytes to another place while everything goes on.",
     R"(From now on new files are written to both places, and the server copies the old ones in the background, reads every copy
back and compares it with what was sent. A server that is killed goes on by itself. Nothing is removed from the old place
before `restante blobs finish`; until then the same command with --to the old place turns everything back at once.
Running it again only sets the rate, if one is given; --rate 0 lifts it. The new place must be set up on every server: s3
needs its settings, see `restante config --example`. --wait ends when for a minute every attempt has failed.

Examples:
  restante blobs migrate --to s3 --rate 10MB
  restante blobs migrate --to s3 --wait
  restante blobs migrate --to dir
)",
     Speaks::to_server},
    {"blobs finish", "End a change-over: new files go to the new place alone, and the old copies leave.",
     R"(Refused while any file is only in the old place. This is the step that cannot be turned back; to return later, migrate
again. Old copies that somebody may still be reading leave after the longest request, by the sweep. Then set `blobs` to
the new place, as the server will remind you.

Examples:
  restante blobs finish
  restante blobs finish --wait
)",
     Speaks::to_server},
    {"blobs check", "Look at everything that is kept: missing or changed bytes, bytes that belong to no file.",
     R"(The server reads all files and compares them with what was sent, in every place, and then goes through what lies there.
It does so in the background and for half of the time at most; interrupting this command does not stop it, and one check
runs at a time. Without --fix nothing is changed.

  missing, changed  with --fix a copy is made anew where another place has the right bytes; else the file is marked, its
                    agent gets it no more, and who sent it is told to send it again
  unreadable        the place did not answer: never mended, look again when it does
  orphan            belongs to no file, because a server was killed over an upload; with --fix it is dropped
  unfinished        uploads that were begun and never finished, in S3 those by parts; with --fix they are dropped

Exit code 0 when all is well or was mended, 1 when something is wrong and was not. The server itself does the same slowly:
uploads.check_every, and the sweep.

Examples:
  restante blobs check
  restante blobs check --fix
  restante blobs check --json | jq '.findings[].fault'
)",
     Speaks::to_server},
    {"migrate", "Bring the database's schema up or down, or show where it is.",
     R"(serve does this by itself at start, unless the setting migrate is false. Up and down refuse while a server works on the
data.

Examples:
  restante migrate status --data /var/lib/restante
  restante migrate up --config restante.toml
)"},
    {"migrate up", "Apply every migration that waits.",
     R"(Each is one transaction: an interruption leaves the schema before or after it, and running this again goes on.

Examples:
  restante migrate up
  restante migrate up --data /var/lib/restante
)"},
    {"migrate down", "Take back the newest migration.",
     R"(What only the tables of that migration hold is lost: make a copy of the data directory first. On a terminal you are
asked; a script is taken at its word.

Examples:
  restante migrate down --data /var/lib/restante
)"},
    {"migrate status", "Show which migrations are applied and which wait.",
     R"(Only looks, so it also works beside a running server.

Examples:
  restante migrate status
  restante migrate status --data /var/lib/restante --json
)"},
    {"move", "Move everything from one database to another, SQLite to PostgreSQL for example.",
     R"(With ids, numbers, cursors, tokens and bytes: agents go on as if nothing had happened. Stop the server first; a source
or target that is in use is refused. The source is only read. Each table is counted and digested on both sides, and the
exit code is 0 only when all of it is the same. Killed at any moment, the same command goes on where it was; until it has
ended, no server starts on the target. A target that is not empty is refused, unless this very move has begun to fill it.

Files up to 16 KiB are rows and move with them, and so are all with blobs = "inline". With "dir" they lie in DIR/blobs:
they stay if the new server uses the same data directory, and --data-to copies them, the operator's token and the server's
key to another one. Objects in S3 stay in their bucket. A change-over between places that is under way goes on afterwards.

Examples:
  restante move --from sqlite://data/restante.db --to postgres://restante@db/restante --dry-run
  restante move --from sqlite://data/restante.db --to postgres://restante@db/restante
  restante serve --data data --database postgres://restante@db/restante
  restante move --from sqlite://data/restante.db --to postgres://restante@db/restante --data-to /mnt/shared
  restante move --from postgres://restante@db/restante --data data --to sqlite://back/restante.db --data-to back

Environment:
  PGPASSWORD  the database's password (or ~/.pgpass): better there than in a url, because flags show in ps
)"},
    {"config", "Print the effective configuration, or an example file.",
     R"(Merges and checks exactly as serve would, without starting anything: exit code 78 and one sentence if serve would refuse.
Prints TOML that can be loaded again; what is not a default says where it came from, secrets are masked.

Examples:
  restante config --example > restante.toml
  restante config --config restante.toml
  RESTANTE_LOG_LEVEL=warn restante config --set timeouts.drain=10s

Environment:
  RESTANTE_CONFIG       the file, when --config is not given
  RESTANTE_ADMIN_TOKEN  the operator's token: like RESTANTE_SERVER_KEY, a setting that no file and no flag can give
  RESTANTE_<KEY>        the key in capitals with _ for the dot: timeouts.header is RESTANTE_TIMEOUTS_HEADER;
                        lists are separated by commas. An unknown RESTANTE_ variable is refused as a typo.
)"},
    {"completion", "Print a completion script for bash or zsh.",
     R"(Examples:
  source <(restante completion bash)
  restante completion bash > ~/.local/share/bash-completion/completions/restante
  restante completion zsh > ~/.zfunc/_restante      (a directory of $fpath, before compinit)
)"},
});

const Page* page(std::string_view command) {
  const auto found = std::ranges::find(kPages, command, &Page::command);
  return found == kPages.end() ? nullptr : &*found;
}

}  // namespace

std::string_view summary(std::string_view command) {
  const auto* found = page(command);
  return found ? found->summary : std::string_view();
}

std::string details(std::string_view command) {
  const auto* found = page(command);
  if (!found) return {};
  return std::string(found->details) + std::string(found->speaks == Speaks::to_server ? kRemote : "") +
         std::string(kExitCodes);
}

}  // namespace restante::cli
