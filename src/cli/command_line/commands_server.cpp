#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_line/command.h"
#include "server/config/values.h"
#include "server/settings/settings.h"

namespace restante::cli {
namespace {

constexpr auto kBothFrom = "The server's TOML file, to take both from.";

std::uint16_t parse_port(const std::string& text) {
  try {
    return static_cast<std::uint16_t>(read_number(BareText{text}, 0, 65'535));
  } catch (const BadValue& bad) {
    throw UsageError(fmt::format("--port {}", bad.what()));
  }
}

// A flag that sets one setting.
Flag setting_flag(ConfigSources& to, const std::string& key, const std::string& name, const std::string& shape,
                  const std::string& help, Flag::Rule rule = Flag::none) {
  return {name, shape, help,
          [&to, key, name](const Flag::Values& given) {
            to.flags.push_back({key, fmt::format("{}", fmt::join(given, ",")), name});
          },
          rule};
}

Flag set_flag(ConfigSources& to, const std::string& help) {
  const auto take = [&to](const Flag::Values& given) {
    for (const auto& pair : given) {
      const auto equals = pair.find('=');
      if (equals == std::string::npos) {
        throw UsageError(fmt::format("--set {} has no value: write --set KEY=VALUE, for example --set log.level=warn",
                                     in_quotes(pair)));
      }
      to.flags.push_back({pair.substr(0, equals), pair.substr(equals + 1), "--set"});
    }
  };
  return {"--set", "KEY=VALUE", help, take, Flag::repeatable};
}

Flag config_flag(ConfigSources& to, const std::string& help) {
  return {"--config", "FILE", help, [&to](const Flag::Values& given) { to.file = given.front(); }};
}

// Every setting that has a flag.
Flags settings_flags(ConfigSources& to) {
  Flags flags{config_flag(to, "A TOML file with settings; restante config --example prints one.")};
  for (const auto& setting : settings()) {
    if (setting.flag.empty()) continue;
    flags.push_back(setting_flag(to, setting.key, setting.flag, setting.shape,
                                 setting.help + (setting.list ? " May be repeated." : ""),
                                 setting.list ? Flag::repeatable : Flag::none));
  }
  flags.push_back(set_flag(to, "Any setting by its key, for example log.level=warn. May be repeated."));
  return flags;
}

// For commands that work on the database directly: where it is, as for serve.
Flags data_flags(ConfigSources& to, const std::string& config_help) {
  return {setting_flag(to, "data", "--data", "DIR", "The data directory. Default: ./data."),
          setting_flag(to, "database", "--database", "URL",
                       "sqlite://PATH or postgres://… when the database is not in --data."),
          config_flag(to, config_help)};
}

}  // namespace

Commands server_commands(CommandLine& to) {
  return {
      {"serve",
       "Run the server until SIGTERM or SIGINT.",
       R"(Once it accepts connections it prints one line on stdout, "restante ready on http://…"; logs go to stderr, one JSON
object a line. SIGTERM or SIGINT stops it after the running requests (timeouts.drain at most), a second one within
1 s; SIGHUP reads the TLS files again. The operator's token is made at first start in <data>/admin.token, and the file
<data>/address has the address while the server runs: commands on this machine find both.

Examples:
  restante serve
  restante serve --port 9000
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
  RESTANTE_SERVER_KEY   the server's key, a secret of the same form, which encrypts the inbound secrets of push agents;
                        for servers that share no data directory
  RESTANTE_<KEY>        any setting: RESTANTE_LOG_LEVEL=warn, RESTANTE_LISTEN=127.0.0.1:80,[::1]:80
)",
       {},
       [](const CommandLine& asked) { return serve(asked.serve); },
       join(settings_flags(to.serve), {{.name = "--port",
                                        .shape = "PORT",
                                        .help = "Short for --listen 127.0.0.1:PORT; 0 picks a free one.",
                                        .to =
                                            [&to](const Flag::Values& given) {
                                              const auto port = parse_port(given.front());
                                              to.serve.flags.push_back(
                                                  {"listen", fmt::format("127.0.0.1:{}", port), "--port"});
                                            },
                                        .excludes = "--listen"}})},
      {"dev",
       "Run a server with a demo workspace and an agent that answers.",
       R"(Everything on loopback and under one directory: a server, a workspace called "Demo agent", and an agent that answers
each file with its name, size and sha256. Prints an address to open in a browser, already signed in. Not for the open
network.

Examples:
  restante dev
  restante dev --port 0 --data /tmp/try
  restante dev --no-agent            files stay waiting, to be fetched by hand or by your own agent
)",
       {},
       [](const CommandLine& asked) { return dev(asked.dev); },
       {{"--port", "PORT", "Port on 127.0.0.1; 0 picks a free one. Default: 8080.",
         [&to](const Flag::Values& given) { to.dev.port = parse_port(given.front()); }},
        {"--data", "DIR", "Directory of the demo's data. Default: ./data.", &to.dev.data},
        {"--no-agent", "", "Start no agent: files stay waiting.", &to.dev.no_agent}}}};
}

Commands data_commands(CommandLine& to) {
  return {
      {"sweep", "Remove now what is due: acknowledged files past their retention, expired ones, unfinished uploads.",
       R"(The server does this by itself at start and every few minutes.

Examples:
  restante sweep
  restante sweep --json
)",
       &to.sweep, [](const CommandLine& asked) { return sweep(asked.sweep); }},
      {"clock", "The clock of a server: accept it after it was in doubt.",
       R"(A server whose clock is far from the newest time in its database, or was set while it ran, deletes nothing by age until
the clock has been consistent for ten minutes (clock.confirm). /ready, the log and the page's Health show that.

Examples:
  restante clock accept
)"},
      {"clock accept", "Say that the server's clock is right: what is due expires again at once.",
       R"(First make sure that it is: compare `date -u` on the server's machine (and on that of its database) with another clock.
With a wrong one, files that wait are deleted too early.

Examples:
  date -u; restante clock accept
)",
       &to.clock, [](const CommandLine& asked) { return accept_clock(asked.clock); }},
      {"blobs", "Where file content is stored: show, move to another place, check.",
       R"(File content is stored as files in the data directory (dir), in the database (inline) or as objects in a bucket (s3). It
moves from one place to another while the server runs: migrate, wait until everything is there, finish.

Examples:
  restante blobs status
  restante blobs migrate --to s3 --rate 10MB --wait
  restante blobs finish
)"},
      {"blobs status", "Show what is stored in which place, and the progress of a blob move.",
       R"(Second copies exist during a blob move: a file that is damaged or missing in one place is then read from the other. Files
of up to 16 KiB are stored in the database itself, whatever the place, and are not counted here.

Examples:
  restante blobs status
  restante blobs status --json | jq .migration
)",
       &to.blobs.remote, [](const CommandLine& asked) { return blobs_status(asked.blobs); }},
      {"blobs migrate",
       "Move all files to another place while the server runs.",
       R"(From now on new files are written to both places, and the server copies the old ones in the background, reads every copy
back and compares it with what was sent. After a kill it continues by itself. Nothing is removed from the old place
before `restante blobs finish`; until then the same command with --to the old place reverses everything at once. Running
it again only sets the rate, if one is given; --rate 0 lifts it. The new place must be set up on every server: s3 needs
its settings, see `restante config --example`. --wait ends when for a minute every attempt has failed.

Examples:
  restante blobs migrate --to s3 --rate 10MB
  restante blobs migrate --to s3 --wait
  restante blobs migrate --to dir
)",
       &to.blobs.remote,
       [](const CommandLine& asked) { return blobs_migrate(asked.blobs); },
       {{"--to", "PLACE", "The new place: dir, inline or s3.", &to.blobs.to, Flag::required, {"dir", "inline", "s3"}},
        {"--rate", "AMOUNT",
         "Copy at most so much a second: 10MB, 512KiB. Default: no limit, or the limit that was set before.",
         &to.blobs.rate},
        {"--wait", "", "Show the progress until everything is in the new place.", &to.blobs.wait}}},
      {"blobs finish",
       "End a blob move: new files go only to the new place, and the old copies are deleted.",
       R"(Refused while any file is only in the old place. This step cannot be reversed; to return later, migrate again. Old
copies that a request may still be reading are deleted after the longest request, by the sweep. Then set `blobs` to the
new place; the server will remind you.

Examples:
  restante blobs finish
  restante blobs finish --wait
)",
       &to.blobs.remote,
       [](const CommandLine& asked) { return blobs_finish(asked.blobs); },
       {{"--wait", "", "Wait until the blob move has ended; the sweep deletes the last old copies later.",
         &to.blobs.wait}}},
      {"blobs check",
       "Check all stored content: what is missing or changed, and what belongs to no file.",
       R"(The server reads all files in every place and compares them with what was sent, and then looks for content that belongs
to no file. It does so in the background and for half of the time at most; interrupting this command does not stop it.
One check runs at a time; every server on the database shows its progress and what the last one found. Without --fix
nothing is changed.

  missing, changed  with --fix it is copied again where another place has the right content; otherwise the file is marked
                    as damaged, its agent gets it no more, and its sender is notified to send it again
  unreadable        the place did not answer: never repaired, check again when it does
  orphan            belongs to no file, because a server was killed during an upload; with --fix it is dropped
  unfinished        uploads that were begun and never finished, in S3 those by parts; with --fix they are dropped

Exit code 0 when all is well or was repaired, 1 when something is wrong and was not. The server itself does the same
slowly: uploads.check_every, and the sweep.

Examples:
  restante blobs check
  restante blobs check --fix
  restante blobs check --json | jq '.findings[].fault'
)",
       &to.blobs.remote,
       [](const CommandLine& asked) { return blobs_check(asked.blobs); },
       {{"--fix", "", "Repair what can be repaired, and notify the senders of the rest.", &to.blobs.fix}}},
      {"blobs adopt",
       "Make this installation the owner of a directory or a bucket, with everything stored there.",
       R"(A directory or bucket has a mark (restante-owner) that contains which installation owns it. A server writes it when it
starts on an empty place for the first time, and does not start on a place that has another mark, or has none and is not
empty, or has none and was used before. Use this command while the server is stopped when you know that the place is
right: after files were lost, or restored without their mark, or when this database has replaced another one (--force),
which must not be started again. From then on content that belongs to no file is deleted there, and what is missing
counts as lost. Do not use it when a disk is not mounted, or when data, s3.bucket or s3.prefix is wrong: correct that.

A copy of a database, for example for staging, has the id of the original: give it its own id (--new-id), and its own
directory or prefix, before you start a server on it.

Examples:
  restante blobs adopt --config restante.toml
  restante blobs adopt --place s3 --force --config restante.toml
  restante blobs adopt --new-id --database postgres://restante@db/staging
)",
       {},
       [](const CommandLine& asked) { return blobs_adopt(asked.adopt); },
       join({{"--place",
              "PLACE",
              "Which one: dir or s3. Default: the one that new files go to.",
              &to.adopt.place,
              Flag::none,
              {"dir", "s3"}},
             {"--force", "",
              "Also take over a place with the mark of another installation. That installation must never be started "
              "again.",
              &to.adopt.force},
             {"--new-id", "", "This database is a copy of another one: make it a separate installation.",
              &to.adopt.new_id}},
            join(data_flags(to.adopt.sources, "The server's TOML file, to take the settings from."),
                 {set_flag(to.adopt.sources, "Any setting: --set s3.prefix=post/. May be repeated.")}))},
      {"restored",
       "After a backup was restored: give new rows numbers that were never given.",
       R"(A client that polls by number (since_seq), or that continues a stream, has read rows that an older copy of the
database does not have. Without this command new rows get the same numbers again, and that client skips them. Run it
once after every restore, before a server starts. Numbers only grow, and a cursor whose row is still there stays valid:
it does no harm when it was not needed. Other cursors are answered 410, and the client reads its inbox again. restante
connect does not need it: it polls by row.

Examples:
  restante restored --data /var/lib/restante
  restante restored --config restante.toml
)",
       {},
       [](const CommandLine& asked) { return restored(asked.restored); },
       data_flags(to.restored.sources, kBothFrom)},
      {"migrate", "Bring the database's schema up or down, or show where it is.",
       R"(serve does this by itself at start. If the setting migrate is false, it refuses to start on an older schema instead,
except on one that ends before the tables of uploads. Up and down refuse while a server works on the data.

Examples:
  restante migrate status --data /var/lib/restante
  restante migrate up --config restante.toml
)"},
      {"migrate up",
       "Apply every migration that waits.",
       R"(Each is one transaction: an interruption leaves the schema before or after it, and running this again continues.

Examples:
  restante migrate up
  restante migrate up --data /var/lib/restante
)",
       {},
       [](const CommandLine& asked) { return migrate_up(asked.migrate); },
       data_flags(to.migrate.sources, kBothFrom)},
      {"migrate down",
       "Undo the newest migration.",
       R"(Data that only the tables of that migration have is lost: make a copy of the data directory first. On a terminal you are
asked; a script is not.

Examples:
  restante migrate down --data /var/lib/restante
)",
       {},
       [](const CommandLine& asked) { return migrate_down(asked.migrate); },
       data_flags(to.migrate.sources, kBothFrom)},
      {"migrate status",
       "Show which migrations are applied and which wait.",
       R"(Only reads, so it also works while a server runs.

Examples:
  restante migrate status
  restante migrate status --data /var/lib/restante --json
)",
       {},
       [](const CommandLine& asked) { return migrate_status(asked.migrate); },
       join(data_flags(to.migrate.sources, kBothFrom),
            {{"--json", "", "One JSON array, for scripts.", &to.migrate.json}})},
      {"move",
       "Move everything from one database to another, SQLite to PostgreSQL for example.",
       R"(With ids, numbers, cursors, tokens and files: agents continue as before. Stop the server first; a source or target that
is in use is refused. Nothing in the source is changed or deleted, except that its installation id moves to the target
at the end: from then on the directory and the bucket with the files belong to the target, and a server on the source is
refused there. Each table is counted and digested on both sides, and the exit code is 0 only when all of it is the same.
After a kill at any moment, the same command continues where it was; until it has ended, no server starts on the target.
A target that is not empty is refused, unless the same move has begun to fill it.

Files up to 16 KiB are in the database and move with it, and so are all with blobs = "inline". With "dir" they are in
DIR/blobs: they stay if the new server uses the same data directory, and --data-to copies them, their mark, the
operator's token and the server's key to another one. Objects in S3 stay in their bucket. A blob move that is in progress
continues afterwards.

Examples:
  restante move --from sqlite://data/restante.db --to postgres://restante@db/restante --dry-run
  restante move --from sqlite://data/restante.db --to postgres://restante@db/restante
  restante serve --data data --database postgres://restante@db/restante
  restante move --from sqlite://data/restante.db --to postgres://restante@db/restante --data-to /mnt/shared
  restante move --from postgres://restante@db/restante --data data --to sqlite://back/restante.db --data-to back

Environment:
  PGPASSWORD  the database's password (or ~/.pgpass): better there than in a url, because flags show in ps
)",
       {},
       [](const CommandLine& asked) { return move(asked.move); },
       {{"--from", "URL", "The old database: sqlite://PATH (data/restante.db) or postgres://….", &to.move.from,
         Flag::required},
        {"--to", "URL", "The new one, empty or not there yet: postgres://… or sqlite://PATH.", &to.move.to,
         Flag::required},
        {"--data", "DIR", "The old server's data directory. Default: where the SQLite file of --from is, else ./data.",
         &to.move.data},
        {"--data-to", "DIR",
         "Copy files, the operator's token and the server's key there, too. Without it they stay where they are.",
         &to.move.data_to},
        {"--dry-run", "", "Only show what would move and whether the target can be used.", &to.move.dry_run},
        {"--verify", "", "Only compare the two databases: the number of rows and a digest of each table.",
         &to.move.verify},
        {"--json", "", "One JSON object, for scripts.", &to.move.json}}},
      {"config",
       "Print the effective configuration, or an example file.",
       R"(Merges and checks exactly as serve would, without starting anything: exit code 78 and one sentence if serve would refuse.
Prints TOML that can be loaded again; each value that is not a default shows where it came from, secrets are masked.

Examples:
  restante config --example > restante.toml
  restante config --config restante.toml
  RESTANTE_LOG_LEVEL=warn restante config --set timeouts.drain=10s

Environment:
  RESTANTE_CONFIG       the file, when --config is not given
  RESTANTE_ADMIN_TOKEN  the operator's token: like RESTANTE_SERVER_KEY, a setting that no file and no flag can give
  RESTANTE_<KEY>        the key in capitals with _ for the dot: timeouts.header is RESTANTE_TIMEOUTS_HEADER;
                        lists are separated by commas. An unknown RESTANTE_ variable is refused as a typo.
)",
       {},
       [](const CommandLine& asked) { return config(asked.config); },
       join({{"--example", "", "Print a commented file with every setting and its default instead.",
              &to.config.example}},
            settings_flags(to.config.sources))},
      {"completion",
       "Print a completion script for bash or zsh.",
       R"(Examples:
  source <(restante completion bash)
  restante completion bash > ~/.local/share/bash-completion/completions/restante
  restante completion zsh > ~/.zfunc/_restante      (a directory of $fpath, before compinit)
)",
       {},
       print_text,
       {{"shell", "bash|zsh", "Which shell.", &to.shell, Flag::required}}}};
}

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine asked;
  const Command program = {"", "Restante: messages and files for AI agents that accept no incoming connections.",
                           R"(Start here:
  restante dev                        a server, a workspace and an agent to look at
  restante serve                      the server on 127.0.0.1:8080, its data in ./data
  restante workspace create NAME      an account for an agent, and the line to paste on its machine
  restante connect --url … --enrol …  on the laptop of an agent
  restante send --to NAME 'Hello'     a message for it, with files if you like
  restante COMMAND --help             more about one of them

Environment:
  RESTANTE_…  every setting of the server (restante config --help)
  NO_COLOR    no colours; without a terminal there are none anyway
)"};
  const auto table = make_table(
      program, {server_commands(asked), agent_commands(asked), people_commands(asked), data_commands(asked)});
  parse_words(table, argc, argv, asked);
  if (asked.called == "completion") asked.text = completion(table, asked.shell);
  return asked;
}

}  // namespace restante::cli
