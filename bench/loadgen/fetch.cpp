#include <fstream>
#include <stdexcept>

#include "loadgen/loop.h"
#include "loadgen/requests.h"
#include "loadgen/scenarios.h"

namespace loadgen {
namespace {

struct Target {
  std::string path;
  std::string token;
};

std::vector<Target> read_targets(const std::string& path) {
  std::ifstream file(path);
  std::vector<Target> all;
  for (Target one; file >> one.path >> one.token;) {
    if (one.token == "-") one.token.clear();
    all.push_back(one);
  }
  if (all.empty()) throw std::runtime_error("no targets in " + path);
  return all;
}

}  // namespace

void fetch(const Options& options) {
  const Content content(options.size);
  const std::vector<Target> targets = read_targets(options.targets);
  Loop loop(options);
  Latencies latencies;
  std::size_t files = 0;
  std::size_t next_target = 0;
  const auto run = [&](const std::function<bool()>& more) {
    const auto next = [&](Client& client, std::size_t) {
      if (!more()) return false;
      const Target& target = targets[next_target++ % targets.size()];
      send_fetch(client, target.path, target.token, content, options.size);
      return true;
    };
    return loop.run(next, [&](const Reply& reply, std::size_t, double seconds) {
      require_status(reply, 200, "fetch");
      latencies.add(seconds);
      ++files;
    });
  };
  if (options.warmup > 0) run(for_seconds(options.warmup));
  latencies = Latencies();
  files = 0;
  const auto spent = run(for_seconds(options.seconds));
  report_run(files, files * options.size, spent, latencies);
}

}  // namespace loadgen
