// `restante config`: the effective configuration, or an example of one.
#pragma once
#include "server/config/config.h"

namespace restante::cli {

struct ConfigOptions {
  ConfigSources sources;
  bool example = false;  // --example: nothing is loaded, so it works even when the file is invalid
};

// Prints to stdout, warnings to stderr. Throws ConfigError. Returns the exit code.
int config(const ConfigOptions& options);

}  // namespace restante::cli
