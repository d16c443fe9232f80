// Stores: opens the one that the configuration names. The only place where a backend of rows is named, besides the
// commands that work on one directly.
#pragma once
#include <memory>

#include "base/disciplined_clock.h"
#include "base/metrics.h"
#include "base/shutdown_deadline.h"
#include "server/config.h"
#include "store/announcements.h"
#include "store/store.h"

namespace restante {

// A shared one tells the clock what time it is, and the announcements what other servers do; it waits for the database
// no longer than `closing` lets it. Throws OpenRefused.
std::unique_ptr<Store> open_store(const Config& config, DisciplinedClock& clock, Metrics& metrics,
                                  Announcements& announcements, const ShutdownDeadline& shutdown_deadline);

}  // namespace restante
