// Stores: opens the store that the configuration names. The only file that names a database backend, except for the
// commands that use one directly.
#pragma once
#include <memory>

#include "base/disciplined_clock.h"
#include "base/metrics.h"
#include "base/shutdown_deadline.h"
#include "server/config/config.h"
#include "store/announcements.h"
#include "store/store.h"

namespace restante {

// A shared store sets the clock from the database, and passes on the announcements of other servers; it waits for the
// database no longer than `shutdown_deadline` allows. Throws OpenRefused.
std::unique_ptr<Store> open_store(const Config& config, DisciplinedClock& clock, Metrics& metrics,
                                  Announcements& announcements, const ShutdownDeadline& shutdown_deadline);

}  // namespace restante
