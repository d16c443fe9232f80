// The places of bytes that the configuration names, opened: files under data, rows of the database, a bucket. The only
// place where a backend of bytes is named, besides the commands that work on one directly. What the settings do not
// choose for new bytes is opened all the same where it may hold some: it stays readable, and a change-over may go
// there. Belongs to whoever made it; cancel() may come from any thread.
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "server/config.h"
#include "store/owner.h"
#include "store/places.h"
#include "store/s3/blobs.h"
#include "store/store.h"

namespace restante {

class OpenPlaces {
 public:
  // All that is given outlives it. Throws OpenRefused and Unavailable.
  OpenPlaces(const Config& config, Store& store, const Clock& clock, Log& log, Metrics& metrics);

  Places::ByPlace by_place() const;
  // Whoever waits for another machine because of bytes waits no longer.
  void cancel();
  // Why something does not work at present that no check of what is written to finds; empty when all is well.
  std::string trouble(const PlacePlan& plan) const;

 private:
  std::unique_ptr<Blobs> dir_;
  std::unique_ptr<Blobs> inline_;
  std::unique_ptr<s3::Blobs> s3_;
};

// Where new bytes go as long as no change-over says otherwise.
PlacePlan plan_of(const Config& config);

// Whose the places are, as far as settings tell.
OwnerRules owner_rules(const Config& config);

bool writes_to(const PlacePlan& plan, Place place);

// What the bytes are called and where they are, for people.
std::string kind_of_blobs(Place place);
std::string place_of_blobs(const Config& config, Place place);

// The directories whose disks fill up when files are uploaded by such a plan; none where bytes and rows are other
// machines'.
std::vector<std::filesystem::path> written_directories(const Config& config, const PlacePlan& plan);

}  // namespace restante
