// The pages of --help, by audience. A new command gets one page here.
#pragma once
#include <span>
#include <string_view>

namespace restante::cli {

struct Page {
  std::string_view command;
  std::string_view summary;
  std::string_view details;
  enum class Connects { not_at_all, to_server } connects = Connects::not_at_all;
};
using Connects = Page::Connects;

std::span<const Page> pages_of_agent();   // restante itself, and the commands for an agent's machine
std::span<const Page> pages_of_people();  // the commands for people: workspaces, tokens, messages, tasks
std::span<const Page> pages_of_server();  // the server and its data

}  // namespace restante::cli
