#include "cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "cli/command_line_manage.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/terminal.h"
#include "server/config_nearest.h"
#include "server/config_settings.h"
#include "server/config_values.h"
#include "server/version.h"

namespace restante::cli {
namespace {

constexpr auto kSettingShape = "KEY=VALUE";

// CLI11 prints a description as one line however long it is.
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

// A value that is looked up after parsing instead of being bound to a variable.
CLI::Option* add_value(CLI::App& app, const std::string& name, const std::string& shape, const std::string& help) {
  return app.add_option(name, [](const CLI::results_t&) { return true; }, help)->type_name(shape);
}

void add_config_flags(CLI::App& app) {
  add_value(app, "--config", "FILE", "A TOML file with settings; restante config --example prints one.");
  for (const auto& setting : settings()) {
    if (setting.flag.empty()) continue;
    if (setting.shape.empty()) {
      app.add_flag(setting.flag, setting.help);
      continue;
    }
    auto* option =
        add_value(app, setting.flag, setting.shape, setting.help + (setting.list ? " May be repeated." : ""));
    if (setting.list) option->take_all();
  }
  add_value(app, "--set", kSettingShape, "Any setting by its key, for example log.level=warn. May be repeated.")
      ->take_all();
}

void add_connect_flags(CLI::App& app, ConnectOptions& to) {
  app.add_option("--url", to.url, "The server. Remembered after the first time.")->type_name("URL");
  app.add_option("--token-file", to.token_file, "File with the workspace's token.")->type_name("FILE");
  app.add_option("--enrol", to.enrol, "Enrolment token shown with a new workspace; good once.")->type_name("TOKEN");
  app.add_option("--workspace", to.workspace, "Workspace id; default: the token's own.")->type_name("ID");
  app.add_option("--dir", to.dir,
                 "Where files land, in .molecule/chat-uploads; default: /workspace if writable, else here.")
      ->type_name("DIR");
  app.add_option("--state", to.state, "Where token, cursor and the map of files are kept between runs.")
      ->type_name("DIR");
  app.add_option("--exec", to.exec, "Shell command run once per message.")->type_name("COMMAND");
  app.add_flag("--json", to.json, "One JSON object a line on stdout for everything that arrives.");
}

void build(CLI::App& app, CommandLine& to) {
  app.formatter(std::make_shared<Wrapped>());
  app.require_subcommand(1)->footer(details(""));
  app.set_help_flag("-h,--help", "Print this help and exit.");
  app.set_version_flag("--version", version_line(), "Print version, commit and compiler, and exit.");
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");

  add_config_flags(add_command(app, "serve"));

  auto& dev = add_command(app, "dev");
  add_value(dev, "--port", "PORT", "Port on 127.0.0.1; 0 picks a free one. Default: 8080.");
  dev.add_option("--data", to.dev.data, "Directory of the demo's data. Default: ./data.")->type_name("DIR");
  dev.add_flag_callback("--no-agent", [&to] { to.dev.agent = false; }, "Start no agent: files stay waiting.");

  add_connect_flags(add_command(app, "connect"), to.connect);
  add_manage_commands(app, to);

  auto& config = add_command(app, "config");
  config.add_flag("--example", to.config.example, "Print a commented file with every setting and its default instead.");
  add_config_flags(config);

  add_value(add_command(app, "completion"), "shell", "bash|zsh", "Which shell.")->required();
}

std::vector<std::string> long_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

CompletionFlag describe(const CLI::Option& option) {
  using Takes = CompletionFlag::Takes;
  CompletionFlag flag{"--" + option.get_lnames().at(0), option.get_description()};
  const auto shape = option.get_type_name();
  flag.repeatable = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  if (option.get_items_expected_max() == 0) return flag;
  flag.takes = shape == "FILE" ? Takes::file : shape == "DIR" ? Takes::directory : Takes::text;
  if (shape == kSettingShape) {
    flag.takes = Takes::choice;
    for (const auto& key : setting_keys()) flag.choices.push_back(key + '=');
  }
  return flag;
}

std::vector<CompletionFlag> describe_flags(const CLI::App& app) {
  std::vector<CompletionFlag> flags;
  for (const auto* option : app.get_options()) {
    if (!option->get_lnames().empty()) flags.push_back(describe(*option));
  }
  return flags;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

CompletionCommand describe_command(const CLI::App& app) {
  CompletionCommand command{app.get_name(), app.get_description(), describe_flags(app)};
  for (const auto* option : app.get_options()) {
    const auto shape = option->get_type_name();
    if (option->get_positional() && shape.find('|') != std::string::npos)
      command.arguments = CLI::detail::split(shape, '|');
  }
  for (const auto* inner : commands_of(app)) command.commands.push_back(describe_command(*inner));
  return command;
}

CompletionTree describe(const CLI::App& app) { return {describe_flags(app), describe_command(app).commands}; }

std::string script_for(const CLI::App& app, const std::string& shell) {
  if (shell == "bash") return bash_completion(describe(app));
  if (shell == "zsh") return zsh_completion(describe(app));
  throw UsageError(fmt::format("there is no completion for {}: write bash or zsh", in_quotes(shell)));
}

ConfigSources sources_from(const CLI::App& app) {
  ConfigSources sources;
  sources.environment = process_environment();
  if (const auto& file = app.get_option("--config")->results(); !file.empty()) sources.file = file.front();
  for (const auto& setting : settings()) {
    if (setting.flag.empty()) continue;
    const auto& given = app.get_option(setting.flag)->results();
    if (!given.empty()) sources.flags.push_back({setting.key, fmt::format("{}", fmt::join(given, ",")), setting.flag});
  }
  for (const auto& pair : app.get_option("--set")->results()) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos) {
      throw UsageError(fmt::format("--set {} has no value: write --set KEY=VALUE, for example --set log.level=warn",
                                   in_quotes(pair)));
    }
    sources.flags.push_back({pair.substr(0, equals), pair.substr(equals + 1), "--set"});
  }
  return sources;
}

std::uint16_t parse_port(const std::string& text) {
  try {
    return static_cast<std::uint16_t>(read_number(BareText{text}, 0, 65'535));
  } catch (const BadValue& bad) {
    throw UsageError(fmt::format("--port {}", bad.what()));
  }
}

void add_environment(ConnectOptions& to) {
  const auto environment = process_environment();
  const auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  if (to.url.empty()) to.url = value("RESTANTE_URL");
  if (to.token_file.empty()) to.token = value("RESTANTE_TOKEN");
}

void take(const CLI::App& chosen, const CLI::App& app, CommandLine& to) {
  const auto& name = chosen.get_name();
  if (name == "serve") {
    to.command = Command::serve;
    to.serve = sources_from(chosen);
  } else if (name == "dev") {
    to.command = Command::dev;
    if (const auto& port = chosen.get_option("--port")->results(); !port.empty())
      to.dev.port = parse_port(port.front());
  } else if (name == "connect") {
    to.command = Command::connect;
    add_environment(to.connect);
  } else if (name == "config") {
    to.command = Command::config;
    to.config.sources = sources_from(chosen);
  } else if (name == "completion") {
    to.text = script_for(app, chosen.get_option("shell")->results().front());
  }
}

std::string called(const CLI::App& app) {
  return app.get_parent() ? called(*app.get_parent()) + ' ' + app.get_name() : app.get_name();
}

// The innermost command that was named.
const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

// CLI11 would say only that an argument was not expected.
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

// What CLI11 found wrong, in our words where its own are terse.
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
  throw UsageError(fmt::format("{}: {}", error.what(), help));
}

}  // namespace

CLI::App& add_command(CLI::App& app, const std::string& called_so) {
  auto* command = app.add_subcommand(called_so.substr(called_so.rfind(' ') + 1), std::string(summary(called_so)));
  command->group("Commands")->footer(details(called_so));
  return *command;
}

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine asked;
  CLI::App app{std::string(summary("")), "restante"};
  build(app, asked);
  check_command_name(app, std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  try {
    app.parse(argc, argv);
    take(*app.get_subcommands().front(), app, asked);
  } catch (const CLI::CallForHelp&) {
    asked.text = colourful(STDOUT_FILENO) ? with_bold_headings(app.help()) : app.help();
  } catch (const CLI::CallForVersion&) {
    asked.text = version_line() + '\n';
  } catch (const CLI::ParseError& error) {
    refuse(app, error);
  }
  return asked;
}

}  // namespace restante::cli
