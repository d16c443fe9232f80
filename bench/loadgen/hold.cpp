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
  // If the server had closed some connections meanwhile, the measurement would be wrong: reading their end throws.
  poller.run_once(0);
  report(fmt::format(R"({{"still_held":{}}})", clients.size()));
}

}  // namespace loadgen
