#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "cli/options.h"
#include "cli/server/address.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "server/platform/platform.h"

namespace restante::cli {
namespace {

constexpr std::string_view kDemoName = "Demo agent";

// A separate process that ends with us. The demo agent is the real `connect`, not a part of the server.
class Child {
 public:
  explicit Child(const std::vector<std::string>& command) {
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    sigset_t none;
    sigemptyset(&none);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ::signal(SIGPIPE, SIG_DFL);
    ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  pid_t pid_ = -1;
};

struct Demo {
  WorkspaceId workspace;
  std::string enrolment;  // empty when the agent was enrolled in an earlier run
};

Demo find_or_make_demo(desk::Workspaces& workspaces, const std::filesystem::path& state) {
  for (const Workspace& workspace : workspaces.list()) {
    if (workspace.name == kDemoName && std::filesystem::exists(state)) return {workspace.id, {}};
  }
  NewWorkspace wanted;
  wanted.name = kDemoName;
  wanted.role = "answers every file with its name, size and sha256";
  desk::Enrolment enrolment = workspaces.enrol(wanted);
  const auto created = workspaces.create(wanted).take();
  if (!created) throw std::runtime_error(std::string(created.error().sentence()));
  return {created->id, std::move(enrolment.token)};
}

std::unique_ptr<Child> start_agent(const Demo& demo, const std::string& url, const std::filesystem::path& folder) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  std::filesystem::create_directories(folder / "workspace");
  std::vector<std::string> command = {self,      "connect",
                                      "--url",   url,
                                      "--dir",   (folder / "workspace").string(),
                                      "--state", (folder / "state").string(),
                                      "--exec",  fmt::format("'{}' demo-agent-reply", self)};
  if (!demo.enrolment.empty()) command.insert(command.end(), {"--enrol", demo.enrolment});
  return std::make_unique<Child>(command);
}

Config dev_config(const DevOptions& options) {
  ConfigSources sources;
  sources.flags = {{"listen", fmt::format("127.0.0.1:{}", options.port), "--port"},
                   {"data", options.data, "--data"},
                   {"log.level", "warn", "dev"}};
  return effective_config(sources);
}

}  // namespace

int dev(const DevOptions& options) {
  const Config config = dev_config(options);
  block_signals();
  Platform platform(config);
  std::optional<AddressNote> note;
  std::unique_ptr<Child> agent;
  run(platform, [&] {
    const std::string url = platform.addresses().front();
    note.emplace(config.data, url, config.public_url);
    const std::filesystem::path folder = std::filesystem::absolute(options.data) / "demo";
    const Demo demo = find_or_make_demo(platform.workspaces(), folder / "state");
    if (!options.no_agent) agent = start_agent(demo, url, folder);
    print(
        fmt::format("restante ready on {}\n\n"
                    "  Open   {}/#token={}&workspace={}\n"
                    "  Agent  {}\n"
                    "  Data   {}\n"
                    "  Stop   Ctrl-C\n\n",
                    url, url, platform.admin_token(), demo.workspace.text(),
                    options.no_agent ? "none (--no-agent): files wait until one connects"
                                     : "connected; it answers every file with its name, size and sha256",
                    options.data));
    std::fflush(stdout);
  });
  return kExitOk;
}

}  // namespace restante::cli
