#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/text.h"
#include "cli/agent/setup.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "mcp/session.h"
#include "server/platform/embedded.h"

namespace restante::cli {
namespace {

namespace fs = std::filesystem;

std::string real_path(const std::string& path) {
  std::error_code error;
  const auto absolute = fs::absolute(path, error);
  const auto real = fs::weakly_canonical(absolute, error);
  return (error ? absolute : real).string();
}

mcp::AttachmentRules attachment_rules(const McpOptions& options, const std::string& dir) {
  mcp::AttachmentRules rules;
  rules.allowed.push_back(real_path(dir));
  for (const auto& folder : options.allow) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) throw CommandFailed(kExitUsage, "--allow " + folder + " is not a folder");
    if (!is_valid_utf8(folder))
      throw CommandFailed(kExitUsage, "--allow must be valid UTF-8: its path is given to the model as JSON");
    rules.allowed.push_back(real_path(folder));
  }
  rules.secret = secret_paths(options.agent);
  return rules;
}

}  // namespace

int mcp(const McpOptions& given) {
  McpOptions options = given;
  check_options(options.agent);
  options.agent = with_state(std::move(options.agent));
  auto [directory, state] = open_state_directory(options.agent);
  auto settings = settings_from(options.agent, state);
  auto attachments = attachment_rules(options, settings.dir);
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
  mcp::ToolContext context(agent, delivery_queue, last_message, std::move(attachments));
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
