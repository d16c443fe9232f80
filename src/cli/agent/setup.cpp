#include "cli/agent/setup.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/crypto.h"
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

// Whose token it is, as the server says; no value when it does not answer that.
struct TokenOwner {
  std::string workspace;  // empty: of an enrolment token that makes a new workspace
};
std::optional<TokenOwner> ask_owner(const std::string& url, const std::string& token) {
  const auto server = client::parse_url(url);
  if (server.has_error() || token.empty()) return {};
  agent::ApiClient api(*server, token);
  const auto session = api.get("/session");
  if (session.has_error()) return {};
  return TokenOwner{session->text("workspace_id")};
}

std::string short_hash(const std::string& secret) { return to_hex(sha256(secret)).substr(0, 16); }

// The server that all known agents use; empty when they differ.
std::string common_server(const std::vector<KnownAgent>& known) {
  std::string server;
  for (const auto& one : known) {
    if (!server.empty() && one.view.state->server != server) return {};
    server = one.view.state->server;
  }
  return server;
}

const KnownAgent* find_known(const std::vector<KnownAgent>& known, const std::string& workspace) {
  const auto found =
      std::ranges::find_if(known, [&](const KnownAgent& one) { return one.view.state->workspace == workspace; });
  return found == known.end() ? nullptr : &*found;
}

// The folder for the agent of this workspace.
std::string folder_for(const std::vector<KnownAgent>& known, const std::string& all, const std::string& workspace) {
  const auto* found = find_known(known, workspace);
  return found ? found->folder : all + "/agents/" + workspace;
}

std::string folder_for_enrolment(const std::vector<KnownAgent>& known, const std::string& all,
                                 const AgentOptions& options) {
  const auto hash = to_hex(sha256(options.enrol));
  for (const auto& one : known) {
    if (one.view.state->enrolled == hash) return one.folder;  // the same line again
  }
  const auto owner = ask_owner(options.url, options.enrol);
  if (owner && !owner->workspace.empty()) return folder_for(known, all, owner->workspace);
  return all + "/agents/new-" + short_hash(options.enrol);
}

std::string folder_for_token(const std::vector<KnownAgent>& known, const std::string& all,
                             const AgentOptions& options) {
  const auto token = options.token_file.empty() ? options.token : read_token_file(options.token_file);
  const auto owner = ask_owner(options.url, std::string(trim(token)));
  if (owner && !owner->workspace.empty()) return folder_for(known, all, owner->workspace);
  if (known.size() == 1) return known.front().folder;
  if (known.empty()) return all + "/agents/new-" + short_hash(token);
  throw CommandFailed(kExitTryAgain,
                      "the server does not say now whose token this is, and several agents are known on this machine: "
                      "give --workspace ID or try again later");
}

std::string list_of(const std::vector<KnownAgent>& known) {
  std::string list;
  for (const auto& one : known)
    list += (list.empty() ? "" : ", ") + one.view.state->workspace + " on " + one.view.state->server;
  return list;
}

}  // namespace

std::vector<KnownAgent> known_agents() {
  namespace fs = std::filesystem;
  std::vector<KnownAgent> known;
  const auto all = folder_of_states();
  if (all.empty()) return known;
  std::vector<std::string> folders{all + "/connect"};  // of versions that kept one agent for each user
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(all + "/agents", error)) folders.push_back(entry.path().string());
  std::ranges::sort(folders);
  for (auto& folder : folders) {
    auto view = agent::inspect_state(folder);
    if (view.has_value() && view->state) known.push_back({std::move(folder), std::move(*view)});
  }
  return known;
}

AgentOptions with_state(AgentOptions options) {
  const auto all = folder_of_states();
  if (!options.state.empty() || all.empty()) return options;
  const auto known = known_agents();
  if (options.url.empty()) options.url = common_server(known);
  if (!options.workspace.empty()) {
    const auto id = WorkspaceId::parse(options.workspace).value();
    options.state = folder_for(known, all, id.text());
  } else if (!options.enrol.empty()) {
    options.state = folder_for_enrolment(known, all, options);
  } else if (!options.token_file.empty() || !options.token.empty()) {
    options.state = folder_for_token(known, all, options);
  } else if (known.size() == 1) {
    options.state = known.front().folder;
  } else if (known.size() > 1) {
    throw CommandFailed(
        kExitUsage, "which agent? Several are known on this machine; give --workspace ID, one of: " + list_of(known));
  }
  return options;
}

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
