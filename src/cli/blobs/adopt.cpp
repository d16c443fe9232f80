#include <unistd.h>

#include <fmt/format.h>

#include "cli/options.h"
#include "cli/terminal/failed.h"
#include "cli/terminal/terminal.h"
#include "server/places/places.h"
#include "server/platform/embedded.h"
#include "store/migration.h"

namespace restante::cli {
namespace {

// The place that is written_place to: by the database, or else by the setting.
Place written_place(Store& store, const Config& config) {
  const auto move = store.find_blob_move();
  return move ? move->to : plan_of(config).write;
}

int make_separate(Store& store) {
  if (!confirmed(
          "Make this database a separate installation? It will own no directory and no bucket until a server starts."))
    return print("Nothing was changed.\n");
  (void)store.reset_installation().take();
  return print(
      "This database is a separate installation now. Give it its own directory or prefix before a server starts.\n");
}

int adopt(const AdoptOptions& options, const Config& config, Store& store, const Clock& clock, Log& log,
          Metrics& metrics) {
  OpenPlaces places(config, store, clock, log, metrics);
  Owner owner(store, places.by_place(), clock, log, metrics, owner_rules(config));
  owner.ensure_installation();
  const Place place = options.place.empty() ? written_place(store, config) : parse_place(options.place).value();
  if (place == Place::inlined) return print("Nothing to do: the files are in the database.\n");
  const std::string called = place_of_blobs(config, place);
  if (!confirmed(fmt::format("Make this installation the owner of {}, with everything stored there?", called)))
    return print("Nothing was changed.\n");
  owner.adopt(place, options.force ? Owner::Force::yes : Owner::Force::no);
  return print(fmt::format("{} belongs to this installation now.\n", called));
}

}  // namespace

int blobs_adopt(const AdoptOptions& options) {
  const Config config = effective_config(options.sources);
  DisciplinedClock clock;
  Log log(STDERR_FILENO, LogLevel::error, clock);
  Metrics metrics({std::string(version()), std::string(commit()), compiler()});
  Announcements announcements;
  ShutdownDeadline shutdown_deadline;
  try {
    const auto store = open_store(config, clock, metrics, announcements, shutdown_deadline);
    return options.new_id ? make_separate(*store) : adopt(options, config, *store, clock, log, metrics);
  } catch (const OpenRefused& refused) {
    throw CommandFailed(kExitUnavailable, refused.what());
  }
}

}  // namespace restante::cli
