#include "cli/connect.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>

#include "agent/agent.h"
#include "base/text.h"
#include "cli/exit_codes.h"
#include "cli/terminal.h"

namespace restante::cli {
namespace {

agent::Stop* stop_on_signal = nullptr;

void on_signal(int) { stop_on_signal->request(); }

void catch_signals(agent::Stop& stop) {
  stop_on_signal = &stop;
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction before{};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);  // nohup means it
  }
  signal(SIGPIPE,
         SIG_IGN);  // NOLINT: a command that does not read its stdin, or a closed terminal, is no reason to die
}

std::string default_state() {
  if (const char* home = std::getenv("XDG_STATE_HOME"); home && *home == '/')
    return std::string(home) + "/restante/connect";
  if (const char* home = std::getenv("HOME"); home && *home == '/')
    return std::string(home) + "/.local/state/restante/connect";
  return ".restante";
}

std::string default_dir() { return access("/workspace", W_OK | X_OK) == 0 ? "/workspace" : "."; }

// The first line of the file; no value, with a complaint, when there is none.
std::optional<std::string> read_token(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || trim(line).empty()) {
    complain("no token can be read from --token-file " + path);
    return {};
  }
  return std::string(trim(line));
}

// An exit code when the options make no sense together.
std::optional<int> refuse(const ConnectOptions& options) {
  if (!options.enrol.empty() && !options.token_file.empty()) {
    complain("give either --enrol or --token-file, not both");
    return kExitUsage;
  }
  if (!options.exec.empty() && options.json) {
    complain("give either --exec or --json: a command gets JSON on its stdin anyway");
    return kExitUsage;
  }
  if (!options.workspace.empty() && !WorkspaceId::parse(options.workspace)) {
    complain("--workspace is not an id of the form 01234567-89ab-cdef-0123-456789abcdef");
    return kExitUsage;
  }
  if (!is_valid_utf8(options.dir)) {
    complain("--dir must be valid UTF-8: its path is told to the agent as JSON");
    return kExitUsage;
  }
  return {};
}

// An exit code instead when something the person gave cannot be used.
std::optional<int> fill(const ConnectOptions& options, const agent::State& state, agent::Settings& settings) {
  const auto& url = options.url.empty() ? state.server : options.url;
  if (url.empty()) {
    complain("which server? Give --url https://… the first time; it is remembered");
    return kExitUsage;
  }
  const auto server = client::parse_url(url);
  if (server.has_error()) {
    complain("--url " + url + ": " + server.error().sentence);
    return kExitUsage;
  }
  settings.server = *server;
  settings.enrol = options.enrol;
  if (!options.token_file.empty()) {
    const auto token = read_token(options.token_file);
    if (!token) return kExitNotPermitted;
    settings.token = *token;
  } else if (options.enrol.empty()) {
    settings.token = options.token;
  }
  if (!options.workspace.empty()) settings.workspace = WorkspaceId::parse(options.workspace)->text();
  settings.dir = options.dir.empty() ? default_dir() : options.dir;
  return {};
}

int exit_code(agent::End end) {
  switch (end) {
    case agent::End::stopped:
      return kExitOk;
    case agent::End::not_permitted:
      return kExitNotPermitted;
    case agent::End::refused:
      return kExitUnavailable;
    case agent::End::reader_gone:
      return kExitFailed;
  }
  return kExitFailed;
}

}  // namespace

int connect(const ConnectOptions& options) {
  if (const auto code = refuse(options)) return *code;
  auto home = agent::Home::open(options.state.empty() ? default_state() : options.state);
  if (home.has_error()) {
    complain(home.error().sentence);
    return home.error().error == EWOULDBLOCK ? kExitTryAgain : kExitFailed;
  }
  auto state = home->load();
  if (state.has_error()) {
    complain(state.error().sentence);
    return kExitFailed;
  }
  agent::Settings settings;
  if (const auto code = fill(options, *state, settings)) return *code;
  static auto& stop = *new agent::Stop;  // never destroyed: a signal may come as late as it likes
  catch_signals(stop);
  const auto handover = options.exec.empty()
                            ? agent::hand_over_lines(1, options.json ? agent::Lines::json : agent::Lines::readable)
                            : agent::hand_over_to(options.exec, stop);
  agent::Agent agent(std::move(settings), std::move(*home), std::move(*state), *handover, stop, complain);
  return exit_code(agent.run());
}

}  // namespace restante::cli
