#include "cli/command_line/command.h"

namespace restante::cli {
namespace {

constexpr auto kWorkspace = "The workspace: its id, or its name if no other has it.";
constexpr auto kWorkspaceOrNone =
    "The workspace: its id, or its name if no other has it. Without it: enrolment tokens that are bound to no "
    "workspace; an agent that uses one gets a new workspace.";

Flag workspace_argument(std::string& to) { return {"workspace", "ID", kWorkspace, &to, Flag::required}; }

// The flags that the commands of `task` share, before their own.
Flags task_flags(TaskOptions& to) {
  return {
      {"task", "ID", "The task's id.", &to.id, Flag::required},
      {"--workspace", "ID",
       "The workspace that gave the task: id or name. Default: the token's own; not needed with the operator's token.",
       &to.workspace}};
}

}  // namespace

Commands people_commands(CommandLine& to) {
  return {
      {"workspace", "Create, list, show, change and remove workspaces.",
       R"(A workspace is one agent's account on the server: its inbox, files, tokens and tasks.

Examples:
  restante workspace create 'Research laptop'
  restante workspace list
  restante workspace set 'Research laptop' role='reads papers'
)",
       &to.workspace.remote},
      {"workspace create",
       "Create a workspace and print the line to paste on its agent's machine.",
       R"(Examples:
  restante workspace create 'Research laptop'
  restante workspace create Reviewer --role 'reads pull requests' --parent 'Research laptop'
  restante workspace create Callable --push-url https://agent.example.org/hook
  restante workspace create Build --json | jq -r .connection.connect_command

The line contains an enrolment token: it works once, within 24 hours, so no lasting secret lands in a shell's history.
)",
       &to.workspace.remote,
       [](const CommandLine& asked) { return create_workspace(asked.workspace); },
       {{"name", "NAME", "What people call it.", &to.workspace.name, Flag::required},
        {"--role", "TEXT", "What its agent does, in a few words.", &to.workspace.role},
        {"--parent", "ID", "The workspace above it: id or name.", &to.workspace.parent},
        {"--push-url", "URL", "Where its agent can be called. Without it messages wait until the agent asks.",
         &to.workspace.push_url}}},
      {"workspace list", "List workspaces: their status, and when their agents were last seen.",
       R"(Examples:
  restante workspace list
  restante workspace list --json | jq -r '.[] | select(.status == "offline") | .name'
)",
       &to.workspace.remote, [](const CommandLine& asked) { return list_workspaces(asked.workspace); }},
      {"workspace show",
       "Show one workspace.",
       R"(Examples:
  restante workspace show 'Research laptop'
  restante workspace show 01999a3c-7a10-7c52-b2a5-3f0c6d1f9b42 --json
)",
       &to.workspace.remote,
       [](const CommandLine& asked) { return show_workspace(asked.workspace); },
       {workspace_argument(to.workspace.workspace)}},
      {"workspace remove",
       "Remove a workspace and revoke its tokens.",
       R"(Its messages, files and tasks are not deleted now: they are deleted later, after their usual retention. The id
answers 410 from now on. On a terminal you are asked first; a script is not.

Examples:
  restante workspace remove 'Research laptop'
)",
       &to.workspace.remote,
       [](const CommandLine& asked) { return remove_workspace(asked.workspace); },
       {workspace_argument(to.workspace.workspace)}},
      {"workspace set",
       "Change what is written about a workspace.",
       R"(Examples:
  restante workspace set Reviewer name='Reviewer (night)' role='reads pull requests'
  restante workspace set Reviewer parent_id=                    no parent any more
  restante workspace set Reviewer delivery_mode=push url=https://agent.example.org/hook
  restante workspace set Reviewer agent_card='{"name":"Reviewer"}'

With a workspace's own token only name, role and agent_card can be changed; the rest is the operator's.
)",
       &to.workspace.remote,
       [](const CommandLine& asked) { return set_workspace(asked.workspace); },
       {workspace_argument(to.workspace.workspace),
        {"changes", "KEY=VALUE", "name, role, parent_id, delivery_mode, url or agent_card; empty clears it.",
         &to.workspace.changes, Flag::required}}},
      {"token", "List, create and revoke tokens, and replace the operator's own.",
       R"(Examples:
  restante token list --workspace 'Research laptop'
  restante token revoke --workspace 'Research laptop' q3vX0b-9
  restante token admin --rotate
)",
       &to.token.remote},
      {"token list",
       "List the tokens of a workspace: for what, when made, when last used.",
       R"(The server keeps no secrets, only their hashes: of each token the first 8 characters are shown.

Examples:
  restante token list --workspace 'Research laptop'
  restante token list --workspace 'Research laptop' --json
  restante token list                              enrolment tokens (restante invite) that no agent has used yet
)",
       &to.token.remote,
       [](const CommandLine& asked) { return list_tokens(asked.token); },
       {{"--workspace", "ID", kWorkspaceOrNone, &to.token.workspace}}},
      {"token create",
       "Make another token for a workspace's agent and print it, once.",
       R"(For an agent that cannot run "restante connect"; for one that can, restante invite is better, since its line works only
once. The token alone goes to stdout. At most 50 live ones a workspace.

Examples:
  restante token create --workspace 'Research laptop' --label cron > agent.token
  restante token create --workspace 'Research laptop' --json | jq -r .auth_token
)",
       &to.token.remote,
       [](const CommandLine& asked) { return create_token(asked.token); },
       {{"--workspace", "ID", kWorkspace, &to.token.workspace, Flag::required},
        {"--label", "TEXT", "What it is for, to distinguish it from the others.", &to.token.label}}},
      {"token revoke",
       "Revoke a token at once.",
       R"(Its open requests (a held poll, a stream) end within a second.

Examples:
  restante token revoke --workspace 'Research laptop' q3vX0b-9
  restante token revoke --workspace 'Research laptop' 01999a3c-7a10-7c52-b2a5-3f0c6d1f9b42
)",
       &to.token.remote,
       [](const CommandLine& asked) { return revoke_token(asked.token); },
       {{"--workspace", "ID", kWorkspaceOrNone, &to.token.workspace},
        {"token", "TOKEN", "The token's id, or its first 8 characters.", &to.token.token_id, Flag::required}}},
      {"token admin",
       "Replace the operator's token.",
       R"(The running server writes a new admin.token, and the old one is void at the same moment; people who were signed in to the
page with it are signed out. A token that was set with RESTANTE_ADMIN_TOKEN is changed where it was set.

Examples:
  restante token admin --rotate
  restante token admin --rotate --url https://post.example.org --token-file admin.token > admin.token.new
)",
       &to.token.remote,
       [](const CommandLine& asked) { return rotate_admin_token(asked.token); },
       {{"--rotate", "", "Replace the operator's token by a new one.", &to.token.rotate}}},
      {"invite",
       "Make a line for an agent to paste, or a link for a person.",
       R"(Without --sender: an enrolment token for an agent; it works once, within 24 hours. With --sender: a link with which a
person can write and send files to one workspace and sees that chat alone; it works until it is revoked.

Examples:
  restante invite --workspace 'Research laptop'        the agent again, on another machine
  restante invite                                      an agent that gets a workspace of its own
  restante invite --sender --workspace 'Research laptop' --label Ada
)",
       &to.invite.remote,
       [](const CommandLine& asked) { return invite(asked.invite); },
       {{"--sender", "", "Invite a person to write to the workspace, not an agent.", &to.invite.sender},
        {"--workspace", "ID", "Id or name. Without it the agent gets a workspace of its own when it connects.",
         &to.invite.workspace},
        {"--label", "TEXT", "Who it is for; shown in restante token list.", &to.invite.label}}},
      {"uploads",
       "Show what files wait, for whom, how old, and in which state.",
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
       &to.uploads.remote,
       [](const CommandLine& asked) { return uploads(asked.uploads); },
       {{"--workspace", "ID", "Only those for this one: id or name.", &to.uploads.workspace},
        {"--state", "STATE",
         "Only those in this state: waiting (the default), never_fetched, fetched, acked, failed, expired, outgoing "
         "(from the agent), damaged or all.",
         &to.uploads.state},
        {"--stats", "", "Counts and bytes by state and workspace instead of a list.", &to.uploads.stats}}},
      {"delegate",
       "Give an agent a task, wherever it is, and wait for its result if you like.",
       R"(The task is kept until the agent fetches it, for days with --within, and its result comes back to the workspace
that gave it. Files go along and come back. With --wait the result is printed, and the exit code is 0 only when the task
was completed; while it is not, the reason is printed.

Examples:
  restante delegate --from Planner --to Reviewer 'Review this patch.' --file fix.patch --wait --save reviews
  restante delegate --to Reviewer 'Summarise the night.' --within 3d --token-file planner.token
  restante delegate --from Planner --to Build 'make release' --id release-42 --json
)",
       &to.delegate.remote,
       [](const CommandLine& asked) { return delegate(asked.delegate); },
       {{"task", "TEXT", "What is to be done, in words.", &to.delegate.task, Flag::required},
        {"--to", "ID", "Who is to do it: a workspace's id or name.", &to.delegate.to, Flag::required},
        {"--from", "ID", "The workspace that gives the task: id or name. Not needed with a workspace's token.",
         &to.delegate.from},
        {"--file", "FILE", "A file that belongs to it. May be repeated.", &to.delegate.files},
        {"--within", "TIME", "Time until the deadline: 30m, 6h (the default), 3d.", &to.delegate.within},
        {"--id", "ID", "The id to give the task. The same command with the same id again makes no second task.",
         &to.delegate.id},
        {"--wait", "", "Wait for the result and print it.", &to.delegate.wait},
        {"--save", "DIR", "With --wait: put the files of the result there. No file is replaced.", &to.delegate.save},
        {"--timeout", "SECONDS", "With --wait: give up after so many seconds (exit code 75).", &to.delegate.timeout,
         Flag::positive}}},
      {"tasks",
       "Show the tasks that agents gave each other, and why they are not done yet.",
       R"(With the operator's token all of them; with a workspace's token, or --workspace, those it gave or got.

Examples:
  restante tasks
  restante tasks --watch
  restante tasks --workspace Reviewer --status stuck
  restante tasks --stats
  restante tasks --json | jq -r '.delegations[] | .delegation_id + " " + .status'
)",
       &to.tasks.remote,
       [](const CommandLine& asked) { return tasks(asked.tasks); },
       {{"--workspace", "ID", "Only those it gave or got: id or name.", &to.tasks.workspace},
        {"--status", "STATUS", "in_flight (the default), stuck, failed or completed.", &to.tasks.status},
        {"--stats", "", "Counts by status instead of a list.", &to.tasks.stats},
        {"--watch", "", "Update the list until you press Ctrl-C.", &to.tasks.watch}}},
      {"task", "Show, cancel or retry one task.",
       R"(Examples:
  restante task show release-42
  restante task cancel release-42
  restante task retry release-42
)",
       &to.task.remote},
      {"task show", "Show one task: its state, its three clocks, its result and its history.",
       R"(Three clocks, because a running agent does not always work on this task: when its agent was last seen, when it last
reported that it works on this task, and when it last reported progress.

Examples:
  restante task show release-42
  restante task show release-42 --json | jq -r .result
  restante task show release-42 --save results
)",
       &to.task.remote, [](const CommandLine& asked) { return show_task(asked.task); },
       join(task_flags(to.task),
            {{"--save", "DIR", "Instead: put the files of the result there. No file is replaced.", &to.task.save}})},
      {"task cancel", "Cancel a task that has not ended: it has failed at once.",
       R"(The agent learns of it with its next heartbeat; an answer that it still gives is kept as a late one.

Examples:
  restante task cancel release-42
)",
       &to.task.remote, [](const CommandLine& asked) { return cancel_task(asked.task); }, task_flags(to.task)},
      {"task retry", "Retry a task that has ended, with the same agent.",
       R"(A new task with its own id, which refers to the old one. Its files go along again as long as they are kept, and it has as
much time as before; --file, --no-files and --within change that.

Examples:
  restante task retry release-42
  restante task retry release-42 --file fix.patch --within 3d
)",
       &to.task.remote, [](const CommandLine& asked) { return retry_task(asked.task); },
       join(task_flags(to.task),
            {{"--file", "FILE", "A file instead of those that came with it. May be repeated.", &to.task.files},
             {.name = "--no-files",
              .shape = "",
              .help = "Without the files that came with it.",
              .to = &to.task.no_files,
              .excludes = "--file"},
             {"--within", "TIME", "Time until the deadline: 30m, 6h, 3d. Without it: as long as before.",
              &to.task.within}})}};
}

}  // namespace restante::cli
