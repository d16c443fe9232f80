#include "cli/command_line/command_line.h"
#include "cli/command_line/command_parser.h"

namespace restante::cli {
namespace {

constexpr auto kWorkspaceHelp = "The workspace: its id, or its name if no other has it.";

// Adds the flags to every command of a group, below its own flags in --help.
void add_remote_flags_within(CLI::App& group, RemoteOptions& to) {
  for (CLI::App* leaf : group.get_subcommands([](CLI::App*) { return true; })) add_remote_flags(*leaf, to);
}

void add_workspace_argument(CLI::App& app, std::string& to) {
  app.add_option("workspace", to, kWorkspaceHelp)->type_name("ID")->required();
}

void add_workspace(CLI::App& app, CommandLine& to) {
  auto& group = add_command(app, "workspace");
  group.require_subcommand(1);
  auto& options = to.workspace;

  auto& create = add_command(
      group, "workspace create", to, [](const CommandLine& asked) { return create_workspace(asked.workspace); },
      &options.remote);
  create.add_option("name", options.name, "What people call it.")->type_name("NAME")->required();
  create.add_option("--role", options.role, "What its agent does, in a few words.")->type_name("TEXT");
  create.add_option("--parent", options.parent, "The workspace above it: id or name.")->type_name("ID");
  create
      .add_option("--push-url", options.push_url,
                  "Where its agent can be called. Without it messages wait until the agent asks.")
      ->type_name("URL");

  add_command(
      group, "workspace list", to, [](const CommandLine& asked) { return list_workspaces(asked.workspace); },
      &options.remote);
  add_workspace_argument(add_command(
                             group, "workspace show", to,
                             [](const CommandLine& asked) { return show_workspace(asked.workspace); }, &options.remote),
                         options.workspace);
  add_workspace_argument(
      add_command(
          group, "workspace remove", to, [](const CommandLine& asked) { return remove_workspace(asked.workspace); },
          &options.remote),
      options.workspace);

  auto& set = add_command(
      group, "workspace set", to, [](const CommandLine& asked) { return set_workspace(asked.workspace); },
      &options.remote);
  add_workspace_argument(set, options.workspace);
  set.add_option("changes", options.changes,
                 "name, role, parent_id, delivery_mode, url or agent_card; empty clears it.")
      ->type_name("KEY=VALUE")
      ->required();
  add_remote_flags_within(group, options.remote);
}

void add_optional_workspace(CLI::App& leaf, CommandLine& to) {
  leaf.add_option("--workspace", to.token.workspace,
                  std::string(kWorkspaceHelp) +
                      " Without it: enrolment tokens that are bound to no workspace; an agent that uses one gets a "
                      "new workspace.")
      ->type_name("ID");
}

void add_token(CLI::App& app, CommandLine& to) {
  auto& group = add_command(app, "token");
  group.require_subcommand(1);
  add_optional_workspace(
      add_command(
          group, "token list", to, [](const CommandLine& asked) { return list_tokens(asked.token); }, &to.token.remote),
      to);
  auto& create = add_command(
      group, "token create", to, [](const CommandLine& asked) { return create_token(asked.token); }, &to.token.remote);
  create.add_option("--workspace", to.token.workspace, kWorkspaceHelp)->type_name("ID")->required();
  create.add_option("--label", to.token.label, "What it is for, to distinguish it from the others.")->type_name("TEXT");
  auto& revoke = add_command(
      group, "token revoke", to, [](const CommandLine& asked) { return revoke_token(asked.token); }, &to.token.remote);
  add_optional_workspace(revoke, to);
  revoke.add_option("token", to.token.token_id, "The token's id, or its first 8 characters.")
      ->type_name("TOKEN")
      ->required();
  add_command(
      group, "token admin", to, [](const CommandLine& asked) { return rotate_admin_token(asked.token); },
      &to.token.remote)
      .add_flag("--rotate", to.token.rotate, "Replace the operator's token by a new one.");
  add_remote_flags_within(group, to.token.remote);
}

void add_invite(CLI::App& app, CommandLine& to) {
  auto& invite = add_command(
      app, "invite", to, [](const CommandLine& asked) { return cli::invite(asked.invite); }, &to.invite.remote);
  invite.add_flag("--sender", to.invite.sender, "Invite a person to write to the workspace, not an agent.");
  invite
      .add_option("--workspace", to.invite.workspace,
                  "Id or name. Without it the agent gets a workspace of its own when it connects.")
      ->type_name("ID");
  invite.add_option("--label", to.invite.label, "Who it is for; shown in restante token list.")->type_name("TEXT");
  add_remote_flags(invite, to.invite.remote);
}

void add_uploads(CLI::App& app, CommandLine& to) {
  auto& uploads = add_command(
      app, "uploads", to, [](const CommandLine& asked) { return cli::uploads(asked.uploads); }, &to.uploads.remote);
  uploads.add_option("--workspace", to.uploads.workspace, "Only those for this one: id or name.")->type_name("ID");
  uploads
      .add_option(
          "--state", to.uploads.state,
          "Only those in this state: waiting (the default), never_fetched, fetched, acked, failed, expired, outgoing "
          "(from the agent), damaged or all.")
      ->type_name("STATE");
  uploads.add_flag("--stats", to.uploads.stats, "Counts and bytes by state and workspace instead of a list.");
  add_remote_flags(uploads, to.uploads.remote);
}

void add_delegate(CLI::App& app, CommandLine& to) {
  auto& delegate = add_command(
      app, "delegate", to, [](const CommandLine& asked) { return cli::delegate(asked.delegate); }, &to.delegate.remote);
  auto& options = to.delegate;
  delegate.add_option("task", options.task, "What is to be done, in words.")->type_name("TEXT")->required();
  delegate.add_option("--to", options.to, "Who is to do it: a workspace's id or name.")->type_name("ID")->required();
  delegate
      .add_option("--from", options.from,
                  "The workspace that gives the task: id or name. Not needed with a workspace's token.")
      ->type_name("ID");
  delegate.add_option("--file", options.files, "A file that belongs to it. May be repeated.")
      ->type_name("FILE")
      ->take_all()
      ->allow_extra_args(false);
  delegate.add_option("--within", options.within, "Time until the deadline: 30m, 6h (the default), 3d.")
      ->type_name("TIME");
  delegate
      .add_option("--id", options.id,
                  "The id to give the task. The same command with the same id again makes no second task.")
      ->type_name("ID");
  delegate.add_flag("--wait", options.wait, "Wait for the result and print it.");
  delegate.add_option("--timeout", options.timeout, "With --wait: give up after so many seconds (exit code 75).")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber);
  add_remote_flags(delegate, options.remote);
}

void add_tasks(CLI::App& app, CommandLine& to) {
  auto& tasks =
      add_command(app, "tasks", to, [](const CommandLine& asked) { return cli::tasks(asked.tasks); }, &to.tasks.remote);
  tasks.add_option("--workspace", to.tasks.workspace, "Only those it gave or got: id or name.")->type_name("ID");
  tasks.add_option("--status", to.tasks.status, "in_flight (the default), stuck, failed or completed.")
      ->type_name("STATUS");
  tasks.add_flag("--stats", to.tasks.stats, "Counts by status instead of a list.");
  tasks.add_flag("--watch", to.tasks.watch, "Update the list until you press Ctrl-C.");
  add_remote_flags(tasks, to.tasks.remote);
}

CLI::App& add_task_command(CLI::App& group, const char* called, CommandLine& to, Runs<CommandLine>* run) {
  auto& leaf = add_command(group, called, to, run, &to.task.remote);
  leaf.add_option("task", to.task.id, "The task's id.")->type_name("ID")->required();
  leaf.add_option("--workspace", to.task.workspace,
                  "The workspace that gave the task: id or name. Default: the token's own; not needed with the "
                  "operator's token.")
      ->type_name("ID");
  return leaf;
}

void add_retry(CLI::App& group, CommandLine& to) {
  auto& again =
      add_task_command(group, "task retry", to, [](const CommandLine& asked) { return retry_task(asked.task); });
  auto* files =
      again.add_option("--file", to.task.files, "A file instead of those that came with it. May be repeated.")
          ->type_name("FILE")
          ->take_all()
          ->allow_extra_args(false);
  again.add_flag("--no-files", to.task.no_files, "Without the files that came with it.")->excludes(files);
  again.add_option("--within", to.task.within, "Time until the deadline: 30m, 6h, 3d. Without it: as long as before.")
      ->type_name("TIME");
}

void add_task(CLI::App& app, CommandLine& to) {
  auto& group = add_command(app, "task");
  group.require_subcommand(1);
  add_task_command(group, "task show", to, [](const CommandLine& asked) { return show_task(asked.task); });
  add_task_command(group, "task cancel", to, [](const CommandLine& asked) { return cancel_task(asked.task); });
  add_retry(group, to);
  add_remote_flags_within(group, to.task.remote);
}

void add_sweep(CLI::App& app, CommandLine& to) {
  add_remote_flags(add_command(
                       app, "sweep", to, [](const CommandLine& asked) { return cli::sweep(asked.sweep); }, &to.sweep),
                   to.sweep);
}

// Works on the database and the place directly, so it takes settings as serve does.
void add_adopt(CLI::App& group, CommandLine& to) {
  auto& leaf = add_command(group, "blobs adopt");
  auto& options = to.adopt;
  const auto given = std::make_shared<std::map<std::string, std::string>>();
  const auto set = std::make_shared<std::vector<std::string>>();
  leaf.add_option("--place", options.place, "Which one: dir or s3. Default: the one that new files go to.")
      ->type_name("PLACE")
      ->check(CLI::IsMember({"dir", "s3"}));
  leaf.add_flag(
      "--force", options.force,
      "Also take over a place with the mark of another installation. That installation must never be started again.");
  leaf.add_flag("--new-id", options.new_id, "This database is a copy of another one: make it a separate installation.");
  leaf.add_option("--data", (*given)["data"], "The data directory. Default: ./data.")->type_name("DIR");
  leaf.add_option("--database", (*given)["database"],
                  "sqlite://PATH or postgres://… when the database is not in --data.")
      ->type_name("URL");
  leaf.add_option("--config", (*given)["config"], "The server's TOML file, to take the settings from.")
      ->type_name("FILE");
  leaf.add_option("--set", *set, "Any setting: --set s3.prefix=post/. May be repeated.")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  leaf.callback([&to, given, set] {
    to.called = "blobs adopt";
    to.run = [](const CommandLine& asked) { return blobs_adopt(asked.adopt); };
    auto& sources = to.adopt.sources;
    sources.environment = process_environment();
    if (!given->at("config").empty()) sources.file = given->at("config");
    for (const char* key : {"data", "database"}) {
      if (!given->at(key).empty()) sources.flags.push_back({key, given->at(key), std::string("--") + key});
    }
    for (const std::string& pair : *set) {
      const std::size_t equals = pair.find('=');
      if (equals == std::string::npos) throw UsageError("--set takes KEY=VALUE");
      sources.flags.push_back({pair.substr(0, equals), pair.substr(equals + 1), "--set"});
    }
  });
}

void add_blobs(CLI::App& app, CommandLine& to) {
  auto& group = add_command(app, "blobs");
  group.require_subcommand(1);
  auto& options = to.blobs;
  add_command(
      group, "blobs status", to, [](const CommandLine& asked) { return blobs_status(asked.blobs); }, &options.remote);
  auto& migrate = add_command(
      group, "blobs migrate", to, [](const CommandLine& asked) { return blobs_migrate(asked.blobs); }, &options.remote);
  migrate.add_option("--to", options.to, "The new place: dir, inline or s3.")
      ->type_name("PLACE")
      ->required()
      ->check(CLI::IsMember({"dir", "inline", "s3"}));
  migrate
      .add_option("--rate", options.rate,
                  "Copy at most so much a second: 10MB, 512KiB. Default: no limit, or the limit that was set before.")
      ->type_name("AMOUNT");
  migrate.add_flag("--wait", options.wait, "Show the progress until everything is in the new place.");
  auto& finish = add_command(
      group, "blobs finish", to, [](const CommandLine& asked) { return blobs_finish(asked.blobs); }, &options.remote);
  finish.add_flag("--wait", options.wait,
                  "Wait until the blob move has ended; the sweep deletes the last old copies later.");
  auto& check = add_command(
      group, "blobs check", to, [](const CommandLine& asked) { return blobs_check(asked.blobs); }, &options.remote);
  check.add_flag("--fix", options.fix, "Repair what can be repaired, and notify the senders of the rest.");
  add_remote_flags_within(group, options.remote);
  add_adopt(group, to);
}

// --config, --data and --database as for serve; no other setting matters here.
struct DataFlags {
  std::string config, data, database;
};

CLI::App& add_migrate_command(CLI::App& group, const char* called, CommandLine& to, Runs<CommandLine>* run) {
  auto& leaf = add_command(group, called);
  auto flags = std::make_shared<DataFlags>();
  leaf.add_option("--data", flags->data, "The data directory. Default: ./data.")->type_name("DIR");
  leaf.add_option("--database", flags->database, "sqlite://PATH or postgres://… when the database is not in --data.")
      ->type_name("URL");
  leaf.add_option("--config", flags->config, "The server's TOML file, to take both from.")->type_name("FILE");
  leaf.callback([&to, called, run, flags] {
    to.called = called;
    to.run = run;
    to.migrate.sources.environment = process_environment();
    if (!flags->config.empty()) to.migrate.sources.file = flags->config;
    if (!flags->data.empty()) to.migrate.sources.flags.push_back({"data", flags->data, "--data"});
    if (!flags->database.empty()) to.migrate.sources.flags.push_back({"database", flags->database, "--database"});
  });
  return leaf;
}

void add_migrate(CLI::App& app, CommandLine& to) {
  auto& group = add_command(app, "migrate");
  group.require_subcommand(1);
  add_migrate_command(group, "migrate up", to, [](const CommandLine& asked) { return migrate_up(asked.migrate); });
  add_migrate_command(group, "migrate down", to, [](const CommandLine& asked) { return migrate_down(asked.migrate); });
  add_migrate_command(group, "migrate status", to, [](const CommandLine& asked) {
    return migrate_status(asked.migrate);
  }).add_flag("--json", to.migrate.json, "One JSON array, for scripts.");
}

void add_move(CLI::App& app, CommandLine& to) {
  auto& move = add_command(app, "move", to, [](const CommandLine& asked) { return cli::move(asked.move); });
  auto& options = to.move;
  move.add_option("--from", options.from, "The old database: sqlite://PATH (data/restante.db) or postgres://….")
      ->type_name("URL")
      ->required();
  move.add_option("--to", options.to, "The new one, empty or not there yet: postgres://… or sqlite://PATH.")
      ->type_name("URL")
      ->required();
  move.add_option("--data", options.data,
                  "The old server's data directory. Default: where the SQLite file of --from is, else ./data.")
      ->type_name("DIR");
  move.add_option(
          "--data-to", options.data_to,
          "Copy files, the operator's token and the server's key there, too. Without it they stay where they are.")
      ->type_name("DIR");
  move.add_flag("--dry-run", options.dry_run, "Only show what would move and whether the target can be used.");
  move.add_flag("--verify", options.verify,
                "Only compare the two databases: the number of rows and a digest of each table.");
  move.add_flag("--json", options.json, "One JSON object, for scripts.");
}

}  // namespace

void add_manage_commands(CLI::App& app, CommandLine& to) {
  add_workspace(app, to);
  add_token(app, to);
  add_invite(app, to);
  add_uploads(app, to);
  add_delegate(app, to);
  add_tasks(app, to);
  add_task(app, to);
  add_sweep(app, to);
  add_blobs(app, to);
  add_migrate(app, to);
  add_move(app, to);
}

}  // namespace restante::cli
