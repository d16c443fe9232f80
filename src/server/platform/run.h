// run serves until a signal stops it. SIGTERM and SIGINT drain, a second one ends at once, SIGHUP reloads certificates.
#pragma once
#include <functional>

#include "server/platform/platform.h"

namespace restante {

// Must be called before any thread is made: then run() alone receives signals.
void block_signals();

// Starts the server, calls `ready` once it accepts connections, returns when it has stopped.
void run(Platform& platform, const std::function<void()>& ready);

}  // namespace restante
