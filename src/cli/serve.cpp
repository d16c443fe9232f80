#include "cli/serve.h"

#include <cstdio>

#include <fmt/format.h>

#include "cli/failed.h"
#include "cli/terminal.h"
#include "server/config_s3.h"
#include "server/run.h"

namespace restante::cli {

int serve(const Config& config) {
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
