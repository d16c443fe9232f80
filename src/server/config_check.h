// Checks across settings and against the file system: what a single value cannot know. Part of load_config.
#pragma once
#include "server/config.h"

namespace restante {

// Throws ConfigError at the first contradiction, unreadable file, or secret that everybody on the machine can read.
void check_config(const Config& config);

}  // namespace restante
