#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ranges>

#include "cli/command_line/command.h"
#include "server/config/values.h"
#include "server/settings/settings.h"

namespace restante::cli {
namespace {

using Words = std::vector<std::string>;

constexpr auto kSettingShape = "KEY=VALUE";

// The keys that --set takes; a value follows.
Words settable_keys() {
  Words keys = setting_keys();
  for (auto& key : keys) key += '=';
  return keys;
}

// The flags that are completed: --help, which every command has, and its own.
Flags flags_of(const Command& command) {
  Flags flags{{"--help", "", kHelpHelp, {}}};
  if (command.called.empty()) flags.push_back({"--version", "", kVersionHelp, {}});
  for (const Flag& flag : command.flags) {
    if (flag.name.starts_with('-')) flags.push_back(flag);
  }
  return flags;
}

// The allowed values of its positional argument: "bash|zsh".
Words values_of(const Command& command) {
  Words values;
  for (const Flag& flag : command.flags) {
    if (flag.name.starts_with('-') || flag.shape.find('|') == std::string::npos) continue;
    for (const auto& part : std::views::split(flag.shape, '|')) values.emplace_back(part.begin(), part.end());
  }
  return values;
}

std::string name_of(const Command& command) { return command.called.substr(command.called.rfind(' ') + 1); }

// The commands of a group; of the program itself those that are in no group.
Commands commands_of(const Commands& table, const Command& group) {
  const std::string prefix = group.called.empty() ? "" : group.called + ' ';
  Commands found;
  for (const Command& one : table) {
    if (one.called.starts_with(prefix) && one.called.size() > prefix.size() &&
        one.called.find(' ', prefix.size()) == std::string::npos)
      found.push_back(one);
  }
  return found;
}

// The words that may follow a command.
Words words_of(const Commands& table, const Command& command) {
  Words words;
  for (const Command& inner : commands_of(table, command)) words.push_back(name_of(inner));
  for (const Flag& flag : flags_of(command)) words.push_back(flag.name);
  for (const auto& value : values_of(command)) words.push_back(value);
  return words;
}

// The line of a bash `case "$command $previous"` that completes what follows a flag.
std::string bash_value(const std::string& command, const Flag& flag) {
  if (flag.shape.empty()) return {};
  const auto complete = [&](std::string_view option, const std::string& how) {
    return fmt::format(
        "    '{} {}') compopt -o {} 2>/dev/null; mapfile -t COMPREPLY < <(compgen {} -- \"$current\"); return ;;\n",
        command, flag.name, option, how);
  };
  if (flag.shape == "FILE") return complete("filenames", "-f");
  if (flag.shape == "DIR") return complete("filenames", "-d");
  if (flag.shape == kSettingShape) return complete("nospace", fmt::format("-W '{}'", fmt::join(settable_keys(), " ")));
  return fmt::format("    '{} {}') return ;;\n", command, flag.name);
}

// In zsh's _arguments a colon, a bracket and a quote have a meaning.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      out += '\\';
      out += c;
    } else {
      out += c;
    }
  }
  return out;
}

std::string zsh_flag(const Flag& flag) {
  const bool repeatable = flag.rule == Flag::repeatable || std::holds_alternative<Flag::Values*>(flag.to);
  const auto head = fmt::format("{}{}[{}]", repeatable ? "*" : "", flag.name, zsh_text(flag.help));
  if (flag.shape.empty()) return head;
  if (flag.shape == "FILE") return head + ":file:_files";
  if (flag.shape == "DIR") return head + ":directory:_files -/";
  if (flag.shape == kSettingShape)
    return fmt::format("{}:setting:compadd -S \"\" -- {}", head, fmt::join(settable_keys(), " "));
  return head + ":value: ";
}

std::string zsh_command(const Commands& table, const Command& command, const std::string& indent) {
  std::string specs, nested;
  const auto name = name_of(command);
  for (const Flag& flag : flags_of(command)) specs += fmt::format(" \\\n{}    '{}'", indent, zsh_flag(flag));
  if (const auto values = values_of(command); !values.empty())
    specs += fmt::format(" \\\n{}    '1:{}:({})'", indent, name, fmt::join(values, " "));
  if (command.run) return fmt::format("{}{})\n{}  _arguments{} ;;\n", indent, name, indent, specs);
  Words names;
  for (const Command& inner : commands_of(table, command)) {
    names.push_back(name_of(inner));
    nested += zsh_command(table, inner, indent + "    ");
  }
  specs += fmt::format(" \\\n{}    '1:command:({})' \\\n{}    '*::argument:->within'", indent, fmt::join(names, " "),
                       indent);
  return fmt::format(
      "{0}{1})\n{0}  _arguments -C{2}\n{0}  if [[ $state = within ]]; then\n{0}  case $words[1] in\n{3}{0}  esac\n{0}  "
      "fi ;;\n",
      indent, name, specs, nested);
}

std::string bash_completion(const Commands& table) {
  std::string values, words;
  Words groups;
  for (const Command& command : table) {
    if (command.called.empty()) continue;
    if (!command.run) groups.push_back(command.called);
    for (const Flag& flag : flags_of(command)) values += bash_value(command.called, flag);
    words += fmt::format("    '{}') words='{}' ;;\n", command.called, fmt::join(words_of(table, command), " "));
  }
  return fmt::format(R"(# bash completion for restante; load it with: source <(restante completion bash)
_restante() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD - 1]}}" command='' words=''
  COMPREPLY=()
  if ((COMP_CWORD > 1)); then command="${{COMP_WORDS[1]}}"; fi
  if ((COMP_CWORD > 2)); then
    case "$command" in {}) command+=" ${{COMP_WORDS[2]}}" ;; esac
  fi
  case "$command $previous" in
{}  esac
  case "$command" in
    '') words='{}' ;;
{}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -F _restante restante
)",
                     fmt::join(groups, "|"), values, fmt::join(words_of(table, table.front()), " "), words);
}

std::string zsh_completion(const Commands& table) {
  std::string flags, described, commands;
  for (const Flag& flag : flags_of(table.front())) flags += fmt::format(" \\\n    '{}'", zsh_flag(flag));
  for (const Command& command : commands_of(table, table.front())) {
    described += fmt::format("        '{}:{}'\n", command.called, zsh_text(command.summary));
    commands += zsh_command(table, command, "        ");
  }
  return fmt::format(R"(#compdef restante
# zsh completion for restante; put it as _restante into a directory of $fpath, or: source <(restante completion zsh)
_restante() {{
  local curcontext="$curcontext" context state state_descr line
  typeset -A opt_args
  _arguments -C{} \
    '1:command:->command' \
    '*::argument:->argument'
  case $state in
    command)
      local -a commands
      commands=(
{}      )
      _describe -t commands 'restante command' commands ;;
    argument)
      case $words[1] in
{}      esac ;;
  esac
}}
if [[ "$funcstack[1]" = _restante ]]; then
  _restante "$@"
else
  compdef _restante restante
fi
)",
                     flags, described, commands);
}

}  // namespace

std::string completion(const Commands& table, const std::string& shell) {
  if (shell == "bash") return bash_completion(table);
  if (shell == "zsh") return zsh_completion(table);
  throw UsageError(fmt::format("there is no completion for {}: write bash or zsh", in_quotes(shell)));
}

}  // namespace restante::cli
