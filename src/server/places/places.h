// The store and the places that the configuration names, opened: the database, and for blobs files under data, the
// database or a bucket. The only file that names a backend, except for the commands that use one directly. A place that
// the settings do not choose for new blobs is opened, too, if it may contain some: it stays readable, and a blob move
// may go there. Belongs to its maker; cancel() may be called from any thread.
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "base/disciplined_clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/shutdown_deadline.h"
#include "server/config/config.h"
#include "store/announcements.h"
#include "store/owner.h"
#include "store/places.h"
#include "store/s3/blobs.h"
#include "store/store.h"

namespace restante {

// A shared store sets the clock from the database, and passes on the announcements of other servers; it waits for the
// database no longer than `shutdown_deadline` allows. Throws OpenRefused.
std::unique_ptr<Store> open_store(const Config& config, DisciplinedClock& clock, Metrics& metrics,
                                  Announcements& announcements, const ShutdownDeadline& shutdown_deadline);

class OpenPlaces {
 public:
  // All arguments outlive it. Throws OpenRefused and Unavailable.
  OpenPlaces(const Config& config, Store& store, const Clock& clock, Log& log, Metrics& metrics);

  Places::ByPlace by_place() const;
  // Ends every wait for another machine because of blobs.
  void cancel();
  // A present failure that a check of the written places does not find; empty when there is none.
  std::string trouble(const PlacePlan& plan) const;

 private:
  std::unique_ptr<Blobs> dir_;
  std::unique_ptr<Blobs> inline_;
  std::unique_ptr<s3::Blobs> s3_;
};

// Where new blobs go while no blob move sets another place.
PlacePlan plan_of(const Config& config);

// The rules for ownership of the places that follow from the settings.
OwnerRules owner_rules(const Config& config);

bool writes_to(const PlacePlan& plan, Place place);

// The kind of a place and its address, for people.
std::string kind_of_blobs(Place place);
std::string place_of_blobs(const Config& config, Place place);

// The directories whose disks fill up when files are uploaded under such a plan; none when database and blobs are on
// other machines.
std::vector<std::filesystem::path> written_directories(const Config& config, const PlacePlan& plan);

}  // namespace restante
