// `restante sweep`: deletes what is due now, instead of at the next run of the sweep.
#pragma once
#include <string>

#include "cli/remote/remote.h"

namespace restante::cli {

struct SweepOptions {
  RemoteOptions remote;
};

// Returns the exit code.
int sweep(const SweepOptions& options);

std::string format_sweep(const Json& answer);

}  // namespace restante::cli
