#include "cli/agent/service.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/crypto.h"
#include "base/text.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"

namespace restante::cli {
namespace {

namespace fs = std::filesystem;
constexpr auto kFirstUnit = "restante-connect.service";
// The variables that decide how the server is reached. They are set here, but not when systemd starts the agent.
constexpr auto kNetworkVariables = {"https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY",    "all_proxy",
                                    "ALL_PROXY",   "no_proxy",    "NO_PROXY",   "SSL_CERT_FILE", "SSL_CERT_DIR"};

std::string absolute(const std::string& path) { return fs::absolute(path).lexically_normal().string(); }

fs::path unit_folder() {
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config && *config == '/')
    return fs::path(config) / "systemd/user";
  if (const char* directory = std::getenv("HOME"); directory && *directory == '/')
    return fs::path(directory) / ".config/systemd/user";
  throw CommandFailed(kExitConfig, "there is no HOME to put a service into");
}

std::string own_path() {
  std::error_code error;
  const auto self = fs::read_symlink("/proc/self/exe", error);
  if (error) throw CommandFailed(kExitFailed, "the path of this program cannot be found; only Linux has services");
  return self.string();
}

// Without its output, which would only confuse.
bool runs(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

// Runs an agent for a moment to exchange the enrolment token for its own token.
void enrol(const ConnectOptions& options) {
  class NoHandover final : public agent::Handover {
   public:
    explicit NoHandover(agent::Stop& stop) : stop_(stop) {}
    agent::HandoverResult deliver(const agent::Delivery&) override {
      stop_.wait();
      return {agent::HandoverResult::What::stopped, {}, {}};
    }

   private:
    agent::Stop& stop_;
  };
  auto [directory, state] = open_state_directory(options.agent);
  auto settings = settings_from(options.agent, state);
  agent::Stop stop;
  NoHandover no_handover(stop);
  agent::Agent agent(std::move(settings), std::move(directory), std::move(state), no_handover, stop,
                     [&](std::string_view line) {
                       print_error(line);
                       if (line.starts_with("connected to ")) stop.request();
                     });
  const int code = exit_code(agent.run());
  if (code != kExitOk) throw CommandFailed(code, "no service was installed, because it could not connect");
}

// The agent that uses the state directory (host, process, since), if that has everything a service needs; then no
// enrolment is necessary.
std::optional<std::string> running_agent(const AgentOptions& options) {
  const auto state_view = agent::inspect_state(state_folder(options));
  if (state_view.has_error() || !state_view->in_use || !state_view->state) return {};
  if (!options.token_file.empty()) (void)read_token_file(options.token_file);
  const bool already_enrolled = options.enrol.empty() || to_hex(sha256(options.enrol)) == state_view->state->enrolled;
  if (options.token_file.empty() && !(state_view->token && already_enrolled)) return {};
  return state_view->holder;
}

// Whether the unit is there and runs the agent with this state directory.
bool is_unit_of(const fs::path& file, const std::string& state) {
  std::ifstream in(file);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return text.find("\"--state\" " + service_word(state) + " ") != std::string::npos;
}

// The unit of the agent with this state directory. The first one on a machine has the plain name.
std::string unit_of(const fs::path& folder, const std::string& state) {
  const auto first = folder / kFirstUnit;
  std::error_code error;
  if (!fs::exists(fs::symlink_status(first, error)) || is_unit_of(first, state)) return kFirstUnit;
  const auto name = fs::path(state).filename().string();
  const auto own = "restante-connect-" + (name.size() > 8 ? name.substr(name.size() - 8) : name) + ".service";
  // The plain name belongs to no other agent that is known: replace it, as versions with one agent for each user did.
  const auto known = known_agents();
  const bool taken = std::ranges::any_of(known, [&](const KnownAgent& one) {
    return is_unit_of(first, absolute(one.folder)) && absolute(one.folder) != state;
  });
  return taken ? own : kFirstUnit;
}

// Readable only by its owner: a proxy's address may contain a password.
void write_unit(const fs::path& folder, const std::string& unit, const std::string& text) {
  const auto opened = agent::open_root(folder.string());
  if (opened.has_error()) throw CommandFailed(kExitFailed, opened.error().sentence);
  if (const auto written = agent::replace_file(opened->get(), unit, text); written.has_error())
    throw CommandFailed(kExitFailed, written.error().sentence);
}

std::string quote(std::string_view word, std::string_view doubled) {
  std::string quoted = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (doubled.find(c) != std::string_view::npos) quoted += c;  // systemd's escape characters are doubled
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string environment_lines(const ConnectOptions& options, const client::Environment& environment) {
  std::vector<const char*> names = kNetworkVariables;
  if (!options.exec.empty()) names.push_back("PATH");
  std::string lines;
  for (const char* name : names) {
    const auto value = environment(name);
    if (!value || value->empty() || !is_valid_utf8(*value)) continue;  // systemd accepts only UTF-8
    lines += fmt::format("Environment={}\n", quote(fmt::format("{}={}", name, *value), "%"));
  }
  return lines;
}

bool lingers(const std::string& user) {
  std::error_code ignored;
  return fs::exists("/var/lib/systemd/linger/" + user, ignored);
}

std::string user_name() {
  if (const auto* entry = getpwuid(getuid()); entry && entry->pw_name) return entry->pw_name;
  const char* name = std::getenv("USER");
  return name && *name ? name : std::to_string(getuid());
}

}  // namespace

std::string service_word(const std::string& word) { return quote(word, "%$"); }

std::string service_path(const std::string& path) {
  if (std::any_of(path.begin(), path.end(), [](unsigned char c) { return c < 0x20; }) || path.ends_with('\\') ||
      path.ends_with(' '))
    throw CommandFailed(kExitUsage, "a service cannot use a folder with such a name: " + path);
  std::string written;
  for (const char c : path) written += c == '%' ? std::string("%%") : std::string(1, c);
  return written;
}

std::string service_unit(const ConnectOptions& options, const std::string& program,
                         const client::Environment& environment) {
  std::vector<std::string> words = {program,   "connect",
                                    "--state", absolute(state_folder(options.agent)),
                                    "--dir",   absolute(landing_folder(options.agent))};
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {flag, value});
  };
  add("--url", options.agent.url);
  add("--token-file", options.agent.token_file.empty() ? std::string() : absolute(options.agent.token_file));
  add("--workspace", options.agent.workspace);
  add("--exec", options.exec);
  if (options.exec_timeout > 0) add("--exec-timeout", std::to_string(options.exec_timeout));
  if (options.attempts != ConnectOptions().attempts) add("--attempts", std::to_string(options.attempts));
  if (options.json) words.emplace_back("--json");
  if (options.reply_to_agents) words.emplace_back("--reply-to-agents");
  if (options.file_wait != ConnectOptions().file_wait) add("--file-wait", std::to_string(options.file_wait));
  std::string line;
  for (const auto& word : words) line += (line.empty() ? "" : " ") + service_word(word);
  // 64, 77 and 78 need a person; after every other exit code another start makes sense. WorkingDirectory is the present
  // one, because the command may be relative to it. KillMode is process: a command outlives an agent that ends or is
  // killed, and the next agent waits for it.
  return fmt::format(
      "[Unit]\n"
      "Description=Restante agent\n"
      "Wants=network-online.target\n"
      "After=network-online.target\n"
      "StartLimitIntervalSec=0\n"
      "\n"
      "[Service]\n"
      "ExecStart={}\n"
      "WorkingDirectory={}\n"
      "{}"
      "Restart=always\n"
      "RestartSec=5\n"
      "RestartPreventExitStatus=64 77 78\n"
      "KillMode=process\n"
      "TimeoutStopSec=20\n"
      "\n"
      "[Install]\n"
      "WantedBy=default.target\n",
      line, service_path(fs::current_path().string()), environment_lines(options, environment));
}

int uninstall_service(const AgentOptions& options) {
  const auto folder = unit_folder();
  const auto state = absolute(state_folder(options));
  const auto unit = unit_of(folder, state);
  const auto file = folder / unit;
  if (!is_unit_of(file, state)) return print(fmt::format("There is no service for the agent in {}.\n", state));
  // It also ends an agent that runs; a command that it has started goes on, and the next agent takes its answer.
  const bool stopped = runs(fmt::format("systemctl --user disable --now {}", unit));
  std::error_code error;
  if (!fs::remove(file, error))
    throw CommandFailed(kExitFailed, fmt::format("cannot delete {}: {}", file.string(), error.message()));
  fs::remove(folder / "default.target.wants" / unit, error);  // the link of `enable`, where there is no systemctl
  const bool reloaded = runs("systemctl --user daemon-reload");
  const auto rest = stopped && reloaded
                        ? std::string("Stopped it.")
                        : fmt::format(
                              "It could not be stopped from here. Run: systemctl --user stop {}; systemctl --user "
                              "daemon-reload",
                              unit);
  return print(fmt::format("Deleted {}\n{}\nThe agent's token and state stay: restante connect goes on from there.\n",
                           file.string(), rest));
}

int install_service(const ConnectOptions& options) {
  if (!options.agent.token.empty() && options.agent.token_file.empty() && options.agent.enrol.empty())
    throw CommandFailed(kExitUsage, "a service does not see RESTANTE_TOKEN: give --token-file or --enrol");
  const auto folder = unit_folder();
  fs::create_directories(landing_folder(options.agent));
  const auto running = running_agent(options.agent);
  if (!running) enrol(options);
  const auto unit = unit_of(folder, absolute(state_folder(options.agent)));
  write_unit(folder, unit, service_unit(options, own_path(), client::from_environment));
  std::string report = fmt::format("Wrote {}\n", (folder / unit).string());
  if (running)
    report += fmt::format("An agent runs already ({}); if it is not this service, end it and the service takes over.\n",
                          *running);
  const bool started = runs("systemctl --user daemon-reload") &&
                       runs(fmt::format("systemctl --user enable {}", unit)) &&
                       runs(fmt::format("systemctl --user restart {}", unit));
  report += started
                ? fmt::format("Started it; restante status shows its state, journalctl --user -u {} its log.\n", unit)
                : fmt::format(
                      "It could not be started from here. Run: systemctl --user daemon-reload && systemctl "
                      "--user enable --now {}\n",
                      unit);
  const auto user = user_name();
  report +=
      lingers(user)
          ? fmt::format("It keeps running when {} logs out, and starts with the machine.\n", user)
          : fmt::format(
                "It ends when {} logs out, and starts at the next login. To keep it running: loginctl enable-linger "
                "{}\n",
                user, user);
  const int code = print(report);
  return code != kExitOk ? code : started ? kExitOk : kExitTryAgain;
}

}  // namespace restante::cli
