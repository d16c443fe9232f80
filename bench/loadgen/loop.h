// Loop: a closed loop over connections of one thread. Each sends its next request when it has its answer, until
// next() returns false; a run ends when all connections have stopped. So the figures contain every request, and the
// time ends with the last answer. Throws what a scenario throws.
#pragma once
#include <functional>
#include <string>

#include "loadgen/client.h"
#include "loadgen/figures.h"
#include "loadgen/scenarios.h"

namespace loadgen {

class Loop {
 public:
  explicit Loop(const Options& options);

  // Sends one request on connection `index`; false: it stops.
  using Next = std::function<bool(Client& client, std::size_t index)>;
  using Done = std::function<void(const Reply& reply, std::size_t index, double seconds)>;

  struct Spent {
    double seconds = 0;
    Cpu cpu;
  };
  Spent run(const Next& next, const Done& done);

  std::size_t size() const { return clients_.size(); }

 private:
  void ask(const Next& next, std::size_t index);

  const Options& options_;
  Poller poller_;
  Clients clients_;
  std::vector<double> asked_;
  std::vector<std::size_t> replied_;  // have their answer and may send the next request
  std::size_t under_way_ = 0;
};

// A next() that sends for so many seconds from now.
std::function<bool()> for_seconds(double seconds);

// {"requests":…,"bytes":…,"seconds":…,"cpu_server":…,"cpu_loadgen":…,"cpu_machine":…,"latency":{…}}
void report_run(std::size_t requests, std::uint64_t bytes, const Loop::Spent& spent, Latencies& latencies);

}  // namespace loadgen
