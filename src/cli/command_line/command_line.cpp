#include "cli/command_line/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/command_line/command_parser.h"
#include "cli/command_line/completion.h"
#include "cli/command_line/help.h"
#include "server/config/values.h"
#include "server/settings/settings.h"

namespace restante::cli {
namespace {

constexpr auto kSettingShape = "KEY=VALUE";

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

void build(CLI::App& app, CommandLine& to) {
  prepare(app, "");
  add_config_flags(add_command(app, "serve"));

  auto& dev = add_command(app, "dev");
  add_value(dev, "--port", "PORT", "Port on 127.0.0.1; 0 picks a free one. Default: 8080.");
  dev.add_option("--data", to.dev.data, "Directory of the demo's data. Default: ./data.")->type_name("DIR");
  dev.add_flag("--no-agent", to.dev.no_agent, "Start no agent: files stay waiting.");

  add_agent_commands(app, to);
  add_manage_commands(app, to);

  auto& config = add_command(app, "config");
  config.add_flag("--example", to.config.example, "Print a commented file with every setting and its default instead.");
  add_config_flags(config);

  add_value(add_command(app, "completion"), "shell", "bash|zsh", "Which shell.")->required();
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

void take(const CLI::App& chosen, const CLI::App& app, CommandLine& to) {
  to.called = chosen.get_name();
  if (to.called == "serve") {
    to.run = [](const CommandLine& asked) { return serve(asked.serve); };
    to.serve = sources_from(chosen);
  } else if (to.called == "dev") {
    to.run = [](const CommandLine& asked) { return dev(asked.dev); };
    if (const auto& port = chosen.get_option("--port")->results(); !port.empty())
      to.dev.port = parse_port(port.front());
  } else if (to.called == "config") {
    to.run = [](const CommandLine& asked) { return config(asked.config); };
    to.config.sources = sources_from(chosen);
  } else if (to.called == "completion") {
    to.text = script_for(app, chosen.get_option("shell")->results().front());
  }
}

}  // namespace

CommandLine parse_command_line(int argc, const char* const* argv) {
  CommandLine asked;
  CLI::App app{std::string(summary("")), "restante"};
  build(app, asked);
  if (auto text = parse_words(app, argc, argv)) {
    asked.text = std::move(*text);
  } else if (asked.called.empty()) {
    take(*app.get_subcommands().front(), app, asked);
  }
  return asked;
}

}  // namespace restante::cli
