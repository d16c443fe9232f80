#include <cstdio>
#include <exception>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "cli/options.h"
#include "cli/server/address.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "server/config/s3.h"
#include "server/platform/platform.h"
#include "store/migration.h"

namespace restante::cli {
namespace {

// A database that cannot be reached now is another exit code than one that refuses this server.
std::unique_ptr<Platform> open_platform(const Config& config) {
  try {
    return std::make_unique<Platform>(config);
  } catch (const OpenRefused& refused) {
    try {
      std::rethrow_if_nested(refused);
    } catch (const Unavailable&) {
      throw CommandFailed(kExitUnavailable, refused.what());
    }
    throw;
  }
}

}  // namespace

int serve(const ConfigSources& sources) {
  const Config config = effective_config(sources);
  require_s3_keys(config);
  block_signals();
  std::optional<AddressNote> note;
  const auto platform_made = open_platform(config);
  Platform& platform = *platform_made;
  run(platform, [&] {
    note.emplace(config.data, platform.addresses().front(), config.public_url);
    // One line, for scripts that wait for it; further addresses are in the log.
    print(fmt::format("restante ready on {}\n", platform.addresses().front()));
    std::fflush(stdout);
  });
  return kExitOk;
}

}  // namespace restante::cli
