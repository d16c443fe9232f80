#include <fmt/format.h>

#include "cli/options.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "server/places/places.h"
#include "server/platform/embedded.h"
#include "store/migration.h"

namespace restante::cli {

int restored(const RestoredOptions& options) {
  const Config config = effective_config(options.sources);
  DisciplinedClock clock;
  Metrics metrics({std::string(version()), std::string(commit()), compiler()});
  Announcements announcements;
  ShutdownDeadline shutdown_deadline;
  try {
    const auto store = open_store(config, clock, metrics, announcements, shutdown_deadline);
    const Time now = clock.now();
    const Epoch begun = store->begin_epoch(now).take().value();
    if (begun.clock_is_behind) {
      print(
          fmt::format("The clock says {}, but numbers of a later time were given already: the new numbers are above "
                      "those that are stored. Check the clock.\n",
                      format_time(now)));
    }
    return print(fmt::format("{} inboxes give new numbers now. Start the server.\n", begun.inboxes));
  } catch (const OpenRefused& refused) {
    throw CommandFailed(kExitUnavailable, refused.what());
  }
}

}  // namespace restante::cli
