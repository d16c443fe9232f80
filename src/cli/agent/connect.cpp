#include <unistd.h>

#include <filesystem>
#include <thread>

#include "agent/exec.h"
#include "agent/result_files.h"
#include "cli/agent/service.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"

namespace restante::cli {
namespace {

// Until stdin ends or the agent stops.
void take_answers(agent::Agent& agent, const agent::Stop& stop) {
  agent::read_lines(STDIN_FILENO, stop, [&](std::string_view line) {
    const auto answer = agent::parse_answer_line(line);
    const auto trouble = answer.has_error() ? answer.error().sentence : agent.answer(*answer);
    if (!trouble.empty()) print_error("a line on stdin is not sent: " + trouble);
  });
}

}  // namespace

int connect(const ConnectOptions& given) {
  ConnectOptions options = given;
  check_options(options.agent);
  if (options.uninstall_service) return uninstall_service(with_state(std::move(options.agent)));
  if (!options.exec.empty() && options.json)
    throw CommandFailed(kExitUsage, "give either --exec or --json: a command gets JSON on its stdin anyway");
  if (options.reply_to_agents && options.exec.empty())
    throw CommandFailed(kExitUsage, "--reply-to-agents needs --exec: only a command has an answer to send");
  if (options.exec.empty() && options.exec_timeout > 0)
    throw CommandFailed(kExitUsage, "--exec-timeout needs --exec: it ends a command that takes too long");
  if (!options.exec.empty()) {
    if (const auto why = agent::check_command(options.exec); !why.empty())
      throw CommandFailed(kExitUsage, "--exec cannot be run: " + why);
  }
  options.agent = with_state(std::move(options.agent));
  if (options.install_service) return install_service(options);
  auto [directory, state] = open_state_directory(options.agent);
  auto settings = settings_from(options.agent, state);
  settings.delivery.file_patience = std::chrono::seconds(options.file_wait);
  settings.delivery.attempts = options.attempts;
  if (options.reply_to_agents) settings.delivery.agents = agent::DeliveryOptions::Agents::answered;
  auto& stop = stop_on_signals();
  const auto runs = std::filesystem::absolute(directory.path() + "/runs").string();
  std::vector<std::string> unsent;
  for (const auto& reply : state.outbox) unsent.push_back(reply.files);
  agent::forget_other_runs(runs, state.begun, unsent);
  const auto handover =
      options.exec.empty()
          ? agent::hand_over_lines(1, options.json ? agent::LineFormat::json : agent::LineFormat::readable)
          : agent::hand_over_to(options.exec, runs, stop, {std::chrono::seconds(options.exec_timeout), print_error});
  settings.answers = std::filesystem::absolute(directory.path() + "/answers").string();
  agent::forget_answers(settings.answers, unsent);
  agent::Agent agent(std::move(settings), std::move(directory), std::move(state), *handover, stop, print_error);
  std::thread answers;
  // Not from a terminal: a shell would stop an agent in the background that reads it.
  if (options.json && ::isatty(STDIN_FILENO) != 1) answers = std::thread([&] { take_answers(agent, stop); });
  const auto end = agent.run();
  if (answers.joinable()) answers.join();
  return exit_code(end);
}

}  // namespace restante::cli
