// `restante completion bash|zsh`: a script that completes commands, flags and their values.
//
// Made from a plain description of the command line, which command_line.cpp takes from the parser itself: every flag
// that exists is completed. Pure.
#pragma once
#include <string>
#include <vector>

namespace restante::cli {

struct CompletionFlag {
  std::string name;  // "--config"
  std::string help;
  enum class Takes { nothing, text, file, directory, choice } takes = Takes::nothing;
  std::vector<std::string> choices{};  // for Takes::choice; one that ends in = is followed by a value
  bool repeatable = false;
};

struct CompletionCommand {
  std::string name;
  std::string help;
  std::vector<CompletionFlag> flags;
  std::vector<std::string> arguments{};       // the allowed values of its positional argument
  std::vector<CompletionCommand> commands{};  // of a group, such as `workspace`
};

struct CompletionTree {
  std::vector<CompletionFlag> flags;  // before any command
  std::vector<CompletionCommand> commands;
};

std::string bash_completion(const CompletionTree& tree);
std::string zsh_completion(const CompletionTree& tree);

}  // namespace restante::cli
