#include <cstdio>

#include <fmt/format.h>

#include "cli/options.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "server/config/s3.h"
#include "server/platform/platform.h"

namespace restante::cli {

int serve(const ConfigSources& sources) {
  const Config config = effective_config(sources);
  require_s3_keys(config);
  block_signals();
  Platform platform(config);
  run(platform, [&] {
    // One line, for scripts that wait for it; further addresses are in the log.
    print(fmt::format("restante ready on {}\n", platform.addresses().front()));
    std::fflush(stdout);
  });
  return kExitOk;
}

}  // namespace restante::cli
