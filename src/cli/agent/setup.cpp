#include "cli/agent/setup.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "base/text.h"
#include "cli/terminal/failed.h"

namespace restante::cli {
namespace {

agent::Stop* stop_on_signal = nullptr;

void on_signal(int) { stop_on_signal->request(); }

// Where state directories are unless --state names another place; empty: there is no such place.
std::string folder_of_states() {
  if (const char* directory = std::getenv("XDG_STATE_HOME"); directory && *directory == '/')
    return std::string(directory) + "/restante";
  if (const char* directory = std::getenv("HOME"); directory && *directory == '/')
    return std::string(directory) + "/.local/state/restante";
  return {};
}

}  // namespace

agent::Stop& stop_on_signals() {
  static auto& stop = *new agent::Stop;  // never destroyed: a signal may come during exit
  stop_on_signal = &stop;
  struct sigaction action{};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction before{};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);  // nohup has set SIG_IGN on purpose
  }
  // A command that does not read its stdin, or a closed terminal, must not end the agent.
  signal(SIGPIPE, SIG_IGN);  // NOLINT(bugprone-unused-return-value)
  return stop;
}

std::string state_folder(const AgentOptions& options) {
  if (!options.state.empty()) return options.state;
  const auto all = folder_of_states();
  return all.empty() ? ".restante" : all + "/connect";
}

std::vector<std::string> secret_paths(const AgentOptions& options) {
  const auto state = state_folder(options);
  // The token by itself, too: a hard link to it can be in any folder.
  std::vector<std::string> secret{state, state + "/token"};
  if (const auto all = folder_of_states(); !all.empty()) secret.push_back(all);
  if (!options.token_file.empty()) secret.push_back(options.token_file);
  return secret;
}

std::string landing_folder(const AgentOptions& options) {
  if (!options.dir.empty()) return options.dir;
  return access("/workspace", W_OK | X_OK) == 0 ? "/workspace" : ".";
}

std::string read_token_file(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || trim(line).empty())
    throw CommandFailed(kExitNotPermitted, "no token can be read from --token-file " + path);
  return std::string(trim(line));
}

void check_options(const AgentOptions& options) {
  if (!options.enrol.empty() && !options.token_file.empty())
    throw CommandFailed(kExitUsage, "give either --enrol or --token-file, not both");
  if (!options.workspace.empty() && !WorkspaceId::parse(options.workspace))
    throw CommandFailed(kExitUsage, "--workspace is not an id of the form 01234567-89ab-cdef-0123-456789abcdef");
  if (!is_valid_utf8(options.dir))
    throw CommandFailed(kExitUsage, "--dir must be valid UTF-8: its path is given to the agent as JSON");
}

agent::Settings settings_from(const AgentOptions& options, const agent::State& remembered) {
  const auto& url = options.url.empty() ? remembered.server : options.url;
  if (url.empty())
    throw CommandFailed(kExitUsage, "which server? Give --url https://… the first time; it is remembered");
  const auto server = client::parse_url(url);
  if (server.has_error()) throw CommandFailed(kExitUsage, "--url " + url + ": " + server.error().sentence);
  agent::Settings settings;
  settings.server = *server;
  settings.enrol = options.enrol;
  if (!options.token_file.empty()) {
    settings.token = read_token_file(options.token_file);
  } else if (options.enrol.empty()) {
    settings.token = options.token;
  }
  if (!options.workspace.empty()) settings.workspace = WorkspaceId::parse(options.workspace)->text();
  settings.dir = landing_folder(options);
  return settings;
}

Opened open_state_directory(const AgentOptions& options) {
  auto directory = agent::StateDirectory::open(state_folder(options));
  if (directory.has_error()) {
    throw CommandFailed(directory.error().error == EWOULDBLOCK ? kExitTryAgain : kExitFailed,
                        directory.error().sentence);
  }
  auto state = directory->load();
  if (state.has_error()) throw CommandFailed(kExitFailed, state.error().sentence);
  return {std::move(*directory), std::move(*state)};
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

}  // namespace restante::cli
