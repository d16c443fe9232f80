// The pages of --help, by whom they are for. Help of a new command is one page here.
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

std::span<const Page> pages_of_agent();   // restante itself, and what is run where an agent is
std::span<const Page> pages_of_people();  // what is done with agents: workspaces, tokens, mail, tasks
std::span<const Page> pages_of_server();  // the server and what it keeps

}  // namespace restante::cli
