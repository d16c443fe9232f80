// run: serves until a signal says stop. SIGTERM and SIGINT drain, a second one ends at once, SIGHUP reloads
// certificates.
#pragma once
#include <functional>

#include "server/platform.h"

namespace restante {

// To be called before any thread is made: signals are then taken by run() alone.
void block_signals();

// Starts the platform, calls `ready` once it accepts connections, returns when it has stopped.
void run(Platform& platform, const std::function<void()>& ready);

}  // namespace restante
