#include "cli/mcp.h"

#include <unistd.h>

#include <thread>

#include "cli/exit_codes.h"
#include "cli/terminal.h"
#include "mcp/session.h"
#include "server/version.h"

namespace restante::cli {

int mcp(const McpOptions& options) {
  check_options(options.agent);
  auto [home, state] = open_home(options.agent);
  auto settings = settings_from(options.agent, state);
  settings.porter.file_patience = std::chrono::seconds(options.file_wait);
  if (isatty(STDIN_FILENO)) complain("this speaks MCP on stdin and stdout; a client starts it (restante mcp --help)");

  auto& stop = stop_on_signals();
  agent::Stop agent_stop;  // an agent that has given up ends alone: the client is told by every tool it calls
  mcp::Counter counter(agent_stop);
  mcp::Words words;
  agent::Agent agent(std::move(settings), std::move(home), std::move(state), counter, agent_stop,
                     [&words](std::string_view said) {
                       words.note(said);
                       complain(said);
                     });
  mcp::Office office(agent, counter, words);
  mcp::Output output(STDOUT_FILENO, stop);
  auto end = agent::End::stopped;
  std::thread runner([&] { end = agent.run(); });
  {
    mcp::SessionOptions session_options;
    session_options.program_version = version();
    mcp::Session session(session_options, office, output, stop);
    session.run(STDIN_FILENO);
  }
  agent_stop.request();
  runner.join();
  return exit_code(end);
}

}  // namespace restante::cli
