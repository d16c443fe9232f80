#include <fmt/format.h>

#include "loadgen/client.h"
#include "loadgen/figures.h"
#include "loadgen/scenarios.h"

namespace loadgen {

void hold(const Options& options) {
  allow_open_files(options.connections);
  Poller poller;
  const double begin = now();
  const Clients clients = open_clients(poller, options.port, options.connections, get(options.path));
  report(fmt::format(R"({{"held":{},"seconds":{:.3f}}})", clients.size(), now() - begin));
  wait_for_line();
  // A server that had closed some meanwhile would have held less than was measured: reading its end throws.
  poller.run_once(0);
  report(fmt::format(R"({{"still_held":{}}})", clients.size()));
}

}  // namespace loadgen
