#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>

#include "base/error.h"
#include "cli/command_line/command.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "server/config/values.h"
#include "server/platform/embedded.h"

namespace restante::cli {
namespace {

constexpr std::string_view kExitCodes = R"(
Exit codes:
  0   done
  1   failed; the message contains the reason
  64  the command line is wrong
  69  the server cannot be reached, or an address or store cannot be used
  75  try again later; nothing needs fixing
  77  the token is missing, wrong or not allowed to do this
  78  a setting is wrong; the message names it and where it came from
)";

constexpr std::string_view kRemote = R"(
Server and token:
  RESTANTE_URL    the server, when --url is not given; default: the address that a running server has noted in its data
                  directory; with a token of your own http://127.0.0.1:8080
  RESTANTE_TOKEN  the token, when --token-file is not given; never a flag, because flags show in ps
  On the server's own machine neither is needed: address and admin.token are read from ./data, RESTANTE_DATA or --data.
)";

std::string footer_of(const Command& command) {
  const bool remote = std::holds_alternative<RemoteOptions*>(command.uses);
  return fmt::format("{}{}{}", command.details, remote ? kRemote : "", kExitCodes);
}

// CLI11 prints a description as one line, however long it is.
class Wrapped final : public CLI::Formatter {
 public:
  Wrapped() { column_width(28); }

  std::string make_option_desc(const CLI::Option* option) const override {
    constexpr std::size_t kWidth = 84;
    std::string out, line;
    for (const auto& word : CLI::detail::split(option->get_description(), ' ')) {
      if (!line.empty() && line.size() + 1 + word.size() > kWidth) {
        out += line + '\n';
        line.clear();
      }
      line += (line.empty() ? "" : " ") + word;
    }
    return out + line;
  }
};

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> long_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string called(const CLI::App& app) {
  return app.get_parent() ? called(*app.get_parent()) + ' ' + app.get_name() : app.get_name();
}

// The innermost command that was named.
const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

// CLI11 would only report that an argument was not expected.
void check_command_name(const CLI::App& app, std::span<const char* const> words) {
  std::vector<std::string> names;
  for (const auto* command : commands_of(app)) names.push_back(command->get_name());
  if (names.empty()) return;
  if (words.empty()) {
    throw UsageError(fmt::format("name a command: {} ({} --help explains them)", fmt::join(names, ", "), called(app)));
  }
  const std::string word = words.front();
  if (word.starts_with('-')) return;
  if (std::ranges::find(names, word) != names.end())
    return check_command_name(*app.get_subcommand(word), words.subspan(1));
  const auto meant = nearest(word, names);
  throw UsageError(fmt::format("unknown command {}: {}", in_quotes(word),
                               meant.empty() ? fmt::format("write one of {}", fmt::join(names, ", "))
                                             : fmt::format("did you mean {} {}?", called(app), meant)));
}

[[noreturn]] void refuse_extra(const CLI::App& app) {
  const CLI::App& where = innermost(app);
  const auto extra = app.remaining(true);
  const auto word = extra.empty() ? std::string() : extra.front().substr(0, extra.front().find('='));
  const auto meant = word.starts_with('-') ? nearest(word, long_names(where)) : std::string();
  throw UsageError(fmt::format(
      "{} does not take {}: {}", called(where), in_quotes(word),
      meant.empty() ? fmt::format("see {} --help", called(where)) : fmt::format("did you mean {}?", meant)));
}

// "--to: mars not in {dir,s3}" as a sentence; no value for any other error.
std::optional<std::string> one_of_few(const std::string& what) {
  const auto colon = what.find(": ");
  const auto not_in = what.find(" not in {");
  if (colon == std::string::npos || not_in == std::string::npos || not_in < colon || what.back() != '}') return {};
  std::string choices = what.substr(not_in + 9, what.size() - not_in - 10);
  for (auto comma = choices.find(','); comma != std::string::npos; comma = choices.find(',', comma + 2)) {
    choices.replace(comma, 1, choices.find(',', comma + 1) == std::string::npos ? " or " : ", ");
  }
  return fmt::format("{} is {}, not {}", what.substr(0, colon), choices, what.substr(colon + 2, not_in - colon - 2));
}

// Throws CLI11's error, as our own sentence where CLI11's is terse.
[[noreturn]] void refuse(const CLI::App& app, const CLI::ParseError& error) {
  if (!app.remaining(true).empty()) refuse_extra(app);
  const CLI::App& where = innermost(app);
  const auto help = fmt::format("see {} --help", called(where));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) {
    const std::string what = error.what(), name = what.substr(0, what.find(':'));
    const auto* option = where.get_option_no_throw(name);
    if (option)
      throw UsageError(fmt::format("{} {}: {}", name, option->count() > 1 ? "is given twice" : "needs a value", help));
  }
  if (const auto given = one_of_few(error.what())) throw UsageError(fmt::format("{}: {}", *given, help));
  throw UsageError(fmt::format("{}: {}", error.what(), help));
}

// A value that is looked up after parsing, or bound to its variable at once.
CLI::Option* bind(CLI::App& app, const Flag& flag, const Flag::Take&) {
  if (flag.shape.empty()) return app.add_flag(flag.name, flag.help);
  return app.add_option(flag.name, [](const CLI::results_t&) { return true; }, flag.help);
}
CLI::Option* bind(CLI::App& app, const Flag& flag, bool* to) { return app.add_flag(flag.name, *to, flag.help); }
CLI::Option* bind(CLI::App& app, const Flag& flag, Flag::Values* to) {
  auto* option = app.add_option(flag.name, *to, flag.help);
  // One value each time: what follows it is an argument.
  return flag.name.starts_with('-') ? option->take_all()->allow_extra_args(false) : option;
}
CLI::Option* bind(CLI::App& app, const Flag& flag, auto* to) { return app.add_option(flag.name, *to, flag.help); }

void add_flag(CLI::App& app, const Flag& flag) {
  auto& option = *std::visit([&](const auto& to) { return bind(app, flag, to); }, flag.to);
  if (!flag.shape.empty()) option.type_name(flag.shape);
  if (flag.rule == Flag::required) option.required();
  if (flag.rule == Flag::repeatable) option.take_all();
  if (flag.rule == Flag::positive) option.check(CLI::PositiveNumber);
  if (flag.rule == Flag::up_to_an_hour) option.check(CLI::Range(0, 3600));
  if (!flag.choices.empty()) option.check(CLI::IsMember(flag.choices));
  if (!flag.excludes.empty()) option.excludes(app.get_option(flag.excludes));
}

void add_command(CLI::App& app, const Command& command) {
  const auto space = command.called.find(' ');
  auto& parent = space == std::string::npos ? app : *app.get_subcommand(command.called.substr(0, space));
  auto& added = *parent.add_subcommand(command.called.substr(space + 1), command.summary);
  added.group("Commands")->footer(footer_of(command));
  if (!command.run) added.require_subcommand(1);
  for (const Flag& flag : command.flags) add_flag(added, flag);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

void add_environment(std::monostate) {}
void add_environment(auto* to) {
  if (to->url.empty()) to->url = variable("RESTANTE_URL");
  if (to->token_file.empty()) to->token = variable("RESTANTE_TOKEN");
}

// The row of the command that was given.
const Command& find_row(const Commands& table, const CLI::App& given) {
  const auto name = called(given);
  return *std::ranges::find(table, name.substr(name.find(' ') + 1), &Command::called);
}

}  // namespace

Flags join(Flags first, const Flags& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

Commands make_table(const Command& program, const std::vector<Commands>& parts) {
  Commands table{program};
  for (const Commands& part : parts) table.insert(table.end(), part.begin(), part.end());
  for (Command& command : table) {
    auto* const* remote = std::get_if<RemoteOptions*>(&command.uses);
    if (!remote || !command.run) continue;
    auto& to = **remote;
    command.flags =
        join(command.flags,
             {{"--url", "URL", "The server. Default: the one of --data, or http://127.0.0.1:8080.", &to.url},
              {"--token-file", "FILE", "File with the token to use.", &to.token_file},
              {"--data", "DIR",
               "The server's data directory on this machine: the token is its admin.token. Default: ./data.", &to.data},
              {"--json", "", "Print the server's answer as it came, for scripts.", &to.json}});
  }
  return table;
}

void parse_words(const Commands& table, int argc, const char* const* argv, CommandLine& to) {
  CLI::App app{table.front().summary, "restante"};
  app.formatter(std::make_shared<Wrapped>());
  app.require_subcommand(1)->footer(footer_of(table.front()));
  app.set_help_flag("-h,--help", kHelpHelp);
  app.set_version_flag("--version", version_line(), kVersionHelp);
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  for (const Command& command : std::span(table).subspan(1)) add_command(app, command);
  check_command_name(app, std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    to.text = colourful(STDOUT_FILENO) ? with_bold_headings(app.help()) : app.help();
    return;
  } catch (const CLI::CallForVersion&) {
    to.text = version_line() + '\n';
    return;
  } catch (const CLI::ParseError& error) {
    refuse(app, error);
  }
  const CLI::App& given = innermost(app);
  const Command& command = find_row(table, given);
  for (const Flag& flag : command.flags) {
    const auto* take = std::get_if<Flag::Take>(&flag.to);
    const auto& values = given.get_option(flag.name)->results();
    if (take && !values.empty()) (*take)(values);
  }
  std::visit([](auto options) { add_environment(options); }, command.uses);
  to.called = command.called;
  to.run = command.run;
}

int print_text(const CommandLine& asked) { return print(asked.text); }

int main_with_errors(CommandLine (*parse)(int, const char* const*), int argc, const char* const* argv) {
  try {
    const CommandLine asked = parse(argc, argv);
    return asked.run(asked);
  } catch (const UsageError& error) {
    print_error(error.what());
    return kExitUsage;
  } catch (const CommandFailed& error) {
    print_error(error.what());
    return error.exit_code();
  } catch (const ConfigError& error) {
    print_error(error.what());
    return kExitConfig;
  } catch (const Unavailable& error) {
    print_error(error.what());
    return kExitUnavailable;
  } catch (const std::exception& error) {
    print_error(error.what());
    return kExitFailed;
  }
}

}  // namespace restante::cli
