#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include "loadgen/scenarios.h"

namespace loadgen {
namespace {

constexpr const char* kUsage =
    "loadgen rate|hold|polls|idle-polls|upload|fill|fetch|cycle --port N [--path P] [--expect BODY]\n"
    "        [--connections N] [--pipeline N] [--threads N] [--warmup S] [--seconds S] [--server PID]…\n"
    "        [--workspaces FILE] [--messages N] [--interval S] [--size BYTES] [--files N] [--targets FILE]\n"
    "        [--until-line yes]\n";

Options parse(int count, char** words) {
  Options options;
  const std::map<std::string, std::function<void(const std::string&)>> flags = {
      {"--port", [&](const std::string& v) { options.port = static_cast<std::uint16_t>(std::stoul(v)); }},
      {"--path", [&](const std::string& v) { options.path = v; }},
      {"--expect", [&](const std::string& v) { options.expect = v; }},
      {"--connections", [&](const std::string& v) { options.connections = std::stoul(v); }},
      {"--pipeline", [&](const std::string& v) { options.pipeline = std::stoul(v); }},
      {"--threads", [&](const std::string& v) { options.threads = static_cast<unsigned>(std::stoul(v)); }},
      {"--warmup", [&](const std::string& v) { options.warmup = std::stod(v); }},
      {"--seconds", [&](const std::string& v) { options.seconds = std::stod(v); }},
      {"--server", [&](const std::string& v) { options.servers.push_back(std::stoi(v)); }},
      {"--workspaces", [&](const std::string& v) { options.workspaces = v; }},
      {"--messages", [&](const std::string& v) { options.messages = std::stoul(v); }},
      {"--interval", [&](const std::string& v) { options.interval = std::stod(v); }},
      {"--size", [&](const std::string& v) { options.size = std::stoul(v); }},
      {"--files", [&](const std::string& v) { options.files = std::stoul(v); }},
      {"--targets", [&](const std::string& v) { options.targets = v; }},
      {"--until-line", [&](const std::string& v) { options.until_line = v == "yes"; }},
  };
  for (int i = 0; i < count; i += 2) {
    const auto flag = flags.find(words[i]);
    if (flag == flags.end() || i + 1 == count) throw std::invalid_argument(words[i]);
    flag->second(words[i + 1]);
  }
  if (options.port == 0) throw std::invalid_argument("--port");
  return options;
}

}  // namespace

std::string get(const std::string& path, const std::string& token) {
  const std::string bearer = token.empty() ? "" : fmt::format("Authorization: Bearer {}\r\n", token);
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: loadgen\r\nAccept: */*\r\n{}\r\n", path,
                     bearer);
}

void wait_for_line() {
  std::string line;
  std::getline(std::cin, line);
}

bool line_arrived() {
  pollfd in{STDIN_FILENO, POLLIN, 0};
  return ::poll(&in, 1, 0) > 0;
}

}  // namespace loadgen

int main(int argc, char** argv) {
  using namespace loadgen;
  const std::map<std::string, void (*)(const Options&)> scenarios = {
      {"rate", rate},     {"hold", hold}, {"polls", polls}, {"idle-polls", idle_polls},
      {"upload", upload}, {"fill", fill}, {"fetch", fetch}, {"cycle", cycle}};
  const auto scenario = argc > 1 ? scenarios.find(argv[1]) : scenarios.end();
  if (scenario == scenarios.end()) {
    std::fputs(kUsage, stderr);
    return 64;
  }
  try {
    scenario->second(parse(argc - 2, argv + 2));
    return 0;
  } catch (const std::invalid_argument& e) {
    fmt::print(stderr, "loadgen: invalid argument: {}\n{}", e.what(), kUsage);
    return 64;
  } catch (const std::exception& e) {
    fmt::print(stderr, "loadgen {}: {}\n", argv[1], e.what());
    return 1;
  }
}
