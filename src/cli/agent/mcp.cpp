#include <unistd.h>

#include <thread>

#include "cli/agent/setup.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "mcp/session.h"
#include "server/platform/version.h"

namespace restante::cli {

int mcp(const McpOptions& options) {
  check_options(options.agent);
  auto [directory, state] = open_state_directory(options.agent);
  auto settings = settings_from(options.agent, state);
  settings.delivery.file_patience = std::chrono::seconds(options.file_wait);
  if (isatty(STDIN_FILENO))
    print_error("this speaks MCP on stdin and stdout; a client starts it (restante mcp --help)");

  auto& stop = stop_on_signals();
  agent::Stop
      agent_stop;  // separate: when the agent gives up, the MCP session continues, and every tool returns the reason
  mcp::DeliveryQueue delivery_queue(agent_stop);
  mcp::LastMessage last_message;
  agent::Agent agent(std::move(settings), std::move(directory), std::move(state), delivery_queue, agent_stop,
                     [&last_message](std::string_view line) {
                       last_message.set(line);
                       print_error(line);
                     });
  mcp::ToolContext context(agent, delivery_queue, last_message);
  mcp::Output output(STDOUT_FILENO, stop);
  auto end = agent::End::stopped;
  std::thread runner([&] { end = agent.run(); });
  {
    mcp::SessionOptions session_options;
    session_options.program_version = version();
    mcp::Session session(session_options, context, output, stop);
    session.run(STDIN_FILENO);
  }
  agent_stop.request();
  runner.join();
  return exit_code(end);
}

}  // namespace restante::cli
