#include "cli/command_line/help.h"

#include <algorithm>

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
  RESTANTE_URL    the server, when --url is not given; default: http://127.0.0.1:8080
  RESTANTE_TOKEN  the token, when --token-file is not given; never a flag, because flags show in ps
  On the server's own machine neither is needed: the token is read from admin.token in ./data, RESTANTE_DATA or --data.
)";

const Page* page(std::string_view command) {
  for (const auto& pages : {pages_of_agent(), pages_of_people(), pages_of_server()}) {
    const auto found = std::ranges::find(pages, command, &Page::command);
    if (found != pages.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

std::string_view summary(std::string_view command) {
  const auto* found = page(command);
  return found ? found->summary : std::string_view();
}

std::string details(std::string_view command) {
  const auto* found = page(command);
  if (!found) return {};
  return std::string(found->details) + std::string(found->connects == Connects::to_server ? kRemote : "") +
         std::string(kExitCodes);
}

}  // namespace restante::cli
