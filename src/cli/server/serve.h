// `restante serve`: the server, in the foreground, until SIGTERM or SIGINT.
#pragma once
#include "server/config/config.h"

namespace restante::cli {

// Prints one line on stdout once it accepts connections, everything else goes to stderr. Returns the exit code.
int serve(const Config& config);

}  // namespace restante::cli
