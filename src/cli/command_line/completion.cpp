#include "cli/command_line/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace restante::cli {
namespace {

using Takes = CompletionFlag::Takes;

std::vector<std::string> names(const std::vector<CompletionFlag>& flags) {
  std::vector<std::string> all;
  for (const auto& flag : flags) all.push_back(flag.name);
  return all;
}

std::vector<std::string> names(const std::vector<CompletionCommand>& commands) {
  std::vector<std::string> all;
  for (const auto& command : commands) all.push_back(command.name);
  return all;
}

// The line of a bash `case "$command $previous"` that completes what follows a flag.
std::string bash_value(const std::string& command, const CompletionFlag& flag) {
  const auto pattern = fmt::format("    '{} {}')", command, flag.name);
  switch (flag.takes) {
    case Takes::nothing:
      return {};
    case Takes::text:
      return pattern + " return ;;\n";
    case Takes::file:
      return pattern +
             R"( compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;)"
             "\n";
    case Takes::directory:
      return pattern +
             R"( compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$current"); return ;;)"
             "\n";
    case Takes::choice:
      break;
  }
  return fmt::format(
      "{} compopt -o nospace 2>/dev/null; mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$current\"); return ;;\n",
      pattern, fmt::join(flag.choices, " "));
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

std::string zsh_flag(const CompletionFlag& flag) {
  const auto head = fmt::format("{}{}[{}]", flag.repeatable ? "*" : "", flag.name, zsh_text(flag.help));
  switch (flag.takes) {
    case Takes::nothing:
      return head;
    case Takes::text:
      return head + ":value: ";
    case Takes::file:
      return head + ":file:_files";
    case Takes::directory:
      return head + ":directory:_files -/";
    case Takes::choice:
      break;
  }
  return fmt::format("{}:setting:compadd -S \"\" -- {}", head, fmt::join(flag.choices, " "));
}

std::string zsh_command(const CompletionCommand& command, const std::string& indent) {
  std::string specs, nested;
  for (const auto& flag : command.flags) specs += fmt::format(" \\\n{}    '{}'", indent, zsh_flag(flag));
  if (!command.arguments.empty()) {
    specs += fmt::format(" \\\n{}    '1:{}:({})'", indent, command.name, fmt::join(command.arguments, " "));
  }
  if (command.commands.empty()) return fmt::format("{}{})\n{}  _arguments{} ;;\n", indent, command.name, indent, specs);
  specs += fmt::format(" \\\n{}    '1:command:({})' \\\n{}    '*::argument:->within'", indent,
                       fmt::join(names(command.commands), " "), indent);
  for (const auto& inner : command.commands) nested += zsh_command(inner, indent + "    ");
  return fmt::format(
      "{0}{1})\n{0}  _arguments -C{2}\n{0}  if [[ $state = within ]]; then\n{0}  case $words[1] in\n{3}{0}  esac\n{0}  "
      "fi ;;\n",
      indent, command.name, specs, nested);
}

// Adds the words and values of one command and of its subcommands.
void add_bash(const CompletionCommand& command, const std::string& called, std::string& values, std::string& words) {
  for (const auto& flag : command.flags) values += bash_value(called, flag);
  auto all = names(command.commands);
  for (const auto& name : names(command.flags)) all.push_back(name);
  all.insert(all.end(), command.arguments.begin(), command.arguments.end());
  words += fmt::format("    '{}') words='{}' ;;\n", called, fmt::join(all, " "));
  for (const auto& inner : command.commands) add_bash(inner, called + ' ' + inner.name, values, words);
}

std::vector<std::string> groups(const CompletionTree& tree) {
  std::vector<std::string> all;
  for (const auto& command : tree.commands) {
    if (!command.commands.empty()) all.push_back(command.name);
  }
  return all;
}

}  // namespace

std::string bash_completion(const CompletionTree& tree) {
  std::string values, words;
  for (const auto& command : tree.commands) add_bash(command, command.name, values, words);
  auto first = names(tree.commands);
  for (const auto& name : names(tree.flags)) first.push_back(name);
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
                     fmt::join(groups(tree), "|"), values, fmt::join(first, " "), words);
}

std::string zsh_completion(const CompletionTree& tree) {
  std::string flags, described, commands;
  for (const auto& flag : tree.flags) flags += fmt::format(" \\\n    '{}'", zsh_flag(flag));
  for (const auto& command : tree.commands) {
    described += fmt::format("        '{}:{}'\n", command.name, zsh_text(command.help));
    commands += zsh_command(command, "        ");
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

}  // namespace restante::cli
