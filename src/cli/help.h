// The text of --help below the list of flags of each command. The flags themselves come from the parser.
#pragma once
#include <string>
#include <string_view>

namespace restante::cli {

// One line for the list of commands; empty for an unknown command. "" is restante itself.
std::string_view summary(std::string_view command);

// What it does, examples, environment and exit codes, each under a heading at the margin.
std::string details(std::string_view command);

}  // namespace restante::cli
