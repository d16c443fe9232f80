// The text of --help below the list of flags of each command. The flags themselves come from the parser. A new command
// gets one page.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace restante::cli {

struct Page {
  std::string_view command;
  std::string_view summary;
  std::string_view details;
  enum class Connects { not_at_all, to_server } connects = Connects::not_at_all;
};
using Connects = Page::Connects;

// By audience.
std::span<const Page> pages_of_agent();   // restante itself, and the commands for an agent's machine
std::span<const Page> pages_of_people();  // the commands for people: workspaces, tokens, messages, tasks
std::span<const Page> pages_of_server();  // the server and its data

// One line for the list of commands; empty for an unknown command. "" is restante itself.
std::string_view summary(std::string_view command);

// What it does, examples, environment and exit codes, each under a heading at the margin.
std::string details(std::string_view command);

}  // namespace restante::cli
