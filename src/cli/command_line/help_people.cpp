#include "cli/command_line/help.h"

#include <array>

namespace restante::cli {
namespace {

constexpr auto kPages = std::to_array<Page>({
    {"workspace", "Create, list, show, change and remove workspaces.",
     R"(A workspace is one agent's account on the server: its inbox, files, tokens and tasks.

Examples:
  restante workspace create 'Research laptop'
  restante workspace list
  restante workspace set 'Research laptop' role='reads papers'
)",
     Connects::to_server},
    {"workspace create", "Create a workspace and print the line to paste on its agent's machine.",
     R"(Examples:
  restante workspace create 'Research laptop'
  restante workspace create Reviewer --role 'reads pull requests' --parent 'Research laptop'
  restante workspace create Callable --push-url https://agent.example.org/hook
  restante workspace create Build --json | jq -r .connection.connect_command

The line contains an enrolment token: it works once, within 24 hours, so no lasting secret lands in a shell's history.
)",
     Connects::to_server},
    {"workspace list", "List workspaces: their status, and when their agents were last seen.",
     R"(Examples:
  restante workspace list
  restante workspace list --json | jq -r '.[] | select(.status == "offline") | .name'
)",
     Connects::to_server},
    {"workspace show", "Show one workspace.",
     R"(Examples:
  restante workspace show 'Research laptop'
  restante workspace show 01999a3c-7a10-7c52-b2a5-3f0c6d1f9b42 --json
)",
     Connects::to_server},
    {"workspace remove", "Remove a workspace and revoke its tokens.",
     R"(Its messages, files and tasks are not deleted now: they are deleted later, after their usual retention. The id
answers 410 from now on. On a terminal you are asked first; a script is not.

Examples:
  restante workspace remove 'Research laptop'
)",
     Connects::to_server},
    {"workspace set", "Change what is written about a workspace.",
     R"(Examples:
  restante workspace set Reviewer name='Reviewer (night)' role='reads pull requests'
  restante workspace set Reviewer parent_id=                    no parent any more
  restante workspace set Reviewer delivery_mode=push url=https://agent.example.org/hook
  restante workspace set Reviewer agent_card='{"name":"Reviewer"}'

With a workspace's own token only name, role and agent_card can be changed; the rest is the operator's.
)",
     Connects::to_server},
    {"token", "List, create and revoke tokens, and replace the operator's own.",
     R"(Examples:
  restante token list --workspace 'Research laptop'
  restante token revoke --workspace 'Research laptop' q3vX0b-9
  restante token admin --rotate
)",
     Connects::to_server},
    {"token list", "List the tokens of a workspace: for what, when made, when last used.",
     R"(The server keeps no secrets, only their hashes: of each token the first 8 characters are shown.

Examples:
  restante token list --workspace 'Research laptop'
  restante token list --workspace 'Research laptop' --json
  restante token list                              enrolment tokens (restante invite) that no agent has used yet
)",
     Connects::to_server},
    {"token create", "Make another token for a workspace's agent and print it, once.",
     R"(For an agent that cannot run "restante connect"; for one that can, restante invite is better, since its line works only
once. The token alone goes to stdout. At most 50 live ones a workspace.

Examples:
  restante token create --workspace 'Research laptop' --label cron > agent.token
  restante token create --workspace 'Research laptop' --json | jq -r .auth_token
)",
     Connects::to_server},
    {"token revoke", "Revoke a token at once.",
     R"(Its open requests (a held poll, a stream) end within a second.

Examples:
  restante token revoke --workspace 'Research laptop' q3vX0b-9
  restante token revoke --workspace 'Research laptop' 01999a3c-7a10-7c52-b2a5-3f0c6d1f9b42
)",
     Connects::to_server},
    {"token admin", "Replace the operator's token.",
     R"(The running server writes a new admin.token, and the old one is void at the same moment; people who were signed in to the
page with it are signed out. A token that was set with RESTANTE_ADMIN_TOKEN is changed where it was set.

Examples:
  restante token admin --rotate
  restante token admin --rotate --url https://post.example.org --token-file admin.token > admin.token.new
)",
     Connects::to_server},
    {"invite", "Make a line for an agent to paste, or a link for a person.",
     R"(Without --sender: an enrolment token for an agent; it works once, within 24 hours. With --sender: a link with which a
person can write and send files to one workspace and sees that chat alone; it works until it is revoked.

Examples:
  restante invite --workspace 'Research laptop'        the agent again, on another machine
  restante invite                                      an agent that gets a workspace of its own
  restante invite --sender --workspace 'Research laptop' --label Ada
)",
     Connects::to_server},
    {"send", "Send a message and files to an agent, wherever it is.",
     R"(The server keeps both until the agent fetches them. Files are sent with a progress bar, and again from the start if the
connection breaks, without being kept twice. With --wait you see each file being fetched and then acknowledged: only then
it is called delivered, and only then the exit code is 0; a server that does not answer meanwhile is asked until it does.
A person's token (restante invite --sender) needs no --to. With --json what was sent is printed also when the rest fails.

Examples:
  restante send --to 'Research laptop' 'Please summarise these.' --file a.pdf --file b.png
  restante send --to 'Research laptop' --file build.log --wait --timeout 600
  restante send --to 'Research laptop' --file a.pdf --wait --json | jq -r '.files[] | .name + " " + .state'
)",
     Connects::to_server},
    {"uploads", "Show what files wait, for whom, how old, and in which state.",
     R"(A file that was fetched but not acknowledged may be lost on the agent's side; one that was never fetched waits for an
agent that has not asked yet. Both are deleted when they expire. A damaged one is no longer what was sent: the
server's disk has changed or lost its content, and it has to be sent again. Needs the operator's token.

Examples:
  restante uploads
  restante uploads --workspace 'Research laptop' --state all
  restante uploads --stats
  restante uploads --state failed --json
  restante uploads --state damaged
)",
     Connects::to_server},
    {"delegate", "Give an agent a task, wherever it is, and wait for its result if you like.",
     R"(The task is kept until the agent fetches it, for days with --within, and its result comes back to the workspace
that gave it. Files go along and come back. With --wait the result is printed, and the exit code is 0 only when the task
was completed; while it is not, the reason is printed.

Examples:
  restante delegate --from Planner --to Reviewer 'Review this patch.' --file fix.patch --wait
  restante delegate --to Reviewer 'Summarise the night.' --within 3d --token-file planner.token
  restante delegate --from Planner --to Build 'make release' --id release-42 --json
)",
     Connects::to_server},
    {"tasks", "Show the tasks that agents gave each other, and why they are not done yet.",
     R"(With the operator's token all of them; with a workspace's token, or --workspace, those it gave or got.

Examples:
  restante tasks
  restante tasks --watch
  restante tasks --workspace Reviewer --status stuck
  restante tasks --stats
  restante tasks --json | jq -r '.delegations[] | .delegation_id + " " + .status'
)",
     Connects::to_server},
    {"task", "Show, cancel or retry one task.",
     R"(Examples:
  restante task show release-42
  restante task cancel release-42
  restante task retry release-42
)",
     Connects::to_server},
    {"task show", "Show one task: its state, its three clocks, its result and its history.",
     R"(Three clocks, because a running agent does not always work on this task: when its agent was last seen, when it last
reported that it works on this task, and when it last reported progress.

Examples:
  restante task show release-42
  restante task show release-42 --json | jq -r .result
)",
     Connects::to_server},
    {"task cancel", "Cancel a task that has not ended: it has failed at once.",
     R"(The agent learns of it with its next heartbeat; an answer that it still gives is kept as a late one.

Examples:
  restante task cancel release-42
)",
     Connects::to_server},
    {"task retry", "Retry a task that has ended, with the same agent.",
     R"(A new task with its own id, which refers to the old one. Its files go along again as long as they are kept, and it has as
much time as before; --file, --no-files and --within change that.

Examples:
  restante task retry release-42
  restante task retry release-42 --file fix.patch --within 3d
)",
     Connects::to_server},
});

}  // namespace

std::span<const Page> pages_of_people() { return kPages; }

}  // namespace restante::cli
