// An example agent in C++. The library does everything that `restante connect` does (polling, files, restarts, bad
// networks); you write a Handover. This one answers each message with its text and its files.
//
//   echo_agent URL TOKEN STATE_FOLDER FILES_FOLDER
//
// Link with the CMake target `agent`. Ends at SIGINT or SIGTERM.
#include <csignal>
#include <iostream>

#include "agent/agent.h"

namespace agent = restante::agent;

namespace {

class Echo final : public agent::Handover {
 public:
  // Called for one delivery after the other. The result is `handled`, or `failed` for another attempt.
  agent::HandoverResult deliver(const agent::Delivery& delivery) override {
    std::string answer = "You said: " + delivery.text;
    for (const auto& file : delivery.files)
      answer += "\n" + file.name + ": " + (file.path.empty() ? file.state : file.path);
    return {agent::HandoverResult::What::handled, answer, {}};
  }
};

agent::Stop* stop_on_signal = nullptr;

int run(const std::string& url, const std::string& token, const std::string& state_folder,
        const std::string& files_folder) {
  const auto server = restante::client::parse_url(url);
  if (server.has_error()) return std::cerr << server.error().sentence << '\n', 64;
  auto directory = agent::StateDirectory::open(state_folder);
  if (directory.has_error()) return std::cerr << directory.error().sentence << '\n', 75;
  auto state = directory->load();
  if (state.has_error()) return std::cerr << state.error().sentence << '\n', 1;

  agent::Settings settings;
  settings.server = *server;
  settings.token = token;
  settings.dir = files_folder;

  static agent::Stop stop;
  stop_on_signal = &stop;
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, [](int) { stop_on_signal->request(); });
  std::signal(SIGPIPE, SIG_IGN);

  Echo echo;
  const auto print_line = [](std::string_view line) { std::cerr << "echo_agent: " + std::string(line) + "\n"; };
  agent::Agent echo_agent(settings, std::move(*directory), std::move(*state), echo, stop, print_line);
  return echo_agent.run() == agent::End::stopped ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return std::cerr << "usage: echo_agent URL TOKEN STATE_FOLDER FILES_FOLDER\n", 64;
  return run(argv[1], argv[2], argv[3], argv[4]);
}
