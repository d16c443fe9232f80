// Places: all places of bytes that this server has, as one. A key carries its place; here it is given and taken off. A
// new blob goes where the plan says, while bytes change over to two places at once: it is kept in both or in none. The
// plan may be exchanged at any time; what has begun ends by the plan it began with. Owns no place. Thread-safe. Throws
// like the places; Unavailable also for a key of a place that this server has not: its bytes are not lost. A place out
// of reach holds up nobody's sweep of the others: it is passed over, and named. So is one that is not ours: nothing is
// written, collected or called missing there (store/owner.h).
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "model/place.h"
#include "store/blobs.h"

namespace restante {

class Owner;

class PlacesWriter {
 public:
  PlacesWriter(std::vector<std::pair<Place, Blobs*>> places);
  void write(std::string_view bytes);
  // Durable and visible in every place, or nowhere.
  BlobKeys finish();

 private:
  struct Copy {
    Place place;
    Blobs* blobs;
    std::unique_ptr<BlobWriter> writer;
  };
  std::vector<Copy> copies_;
};

// Where a new blob goes; `also`: and its twin.
struct PlacePlan {
  Place write = Place::dir;
  std::optional<Place> also{};
  bool operator==(const PlacePlan&) const = default;
};

struct FoundBlob {
  std::shared_ptr<OpenBlob> blob;  // null: it is nowhere
  bool by_twin = false;            // the first place has it not, or not of this size
};

class Places {
 public:
  using ByPlace = std::map<Place, std::reference_wrapper<Blobs>>;
  // Passed over, and why. Who gives it from call to call has each asked once; who gives none is thrown at.
  using UnreachablePlaces = std::map<Place, std::string>;
  // No owner: everything in all of them is ours.
  Places(ByPlace places, PlacePlan plan, Log& log, Metrics& metrics, Owner* owner = nullptr);

  PlacePlan plan() const;
  void set_plan(PlacePlan plan);
  bool has(Place place) const { return places_.contains(place); }
  // Of what the plan writes to; of one of them. Throws Unavailable.
  void check();
  void check(Place place);
  // Throws Unavailable where it is known that it is not ours; what cannot be asked is not held against it.
  void require_not_foreign(Place place);
  // Why it cannot be used; empty when it can. As it was a few seconds ago: a look writes, and people look often.
  std::string trouble(Place place);

  std::unique_ptr<PlacesWriter> put();
  std::unique_ptr<PlacesWriter> put(Place place);
  // The first that is there and has this size, or what there is instead. A twin that had to be asked is counted and
  // said. Throws Unavailable when one could not be asked and the other has it not.
  FoundBlob open(const BlobKeys& keys, std::int64_t size);
  // In its place alone; null when it is not there, and for a foreign prefix.
  std::shared_ptr<OpenBlob> open(std::string_view key);
  void drop(std::string_view key);
  // What this server has just put there and no row names: nobody else can have that key, so nobody is asked whose the
  // place is, which could not be answered while the database is away.
  void drop_unreferenced(std::string_view key);
  // Gives those that are gone: keys of a place that this server has not stay, which is said once.
  std::vector<std::string> drop_all(std::span<const std::string> keys, UnreachablePlaces* unreachable_places = nullptr);
  // As in Blobs, over all places; one that is passed over has nothing.
  BlobPage list(std::string_view from, Time before, UnreachablePlaces* unreachable_places = nullptr);
  std::size_t drop_unfinished(Time before, UnreachablePlaces* unreachable_places = nullptr);
  std::size_t count_unfinished(Time before, UnreachablePlaces* unreachable_places = nullptr);
  // Throws Unavailable when the plan writes to one of them, which is not passed over any more; one that is set up for
  // later, or was left behind, may be out of reach.
  void require_written_places(UnreachablePlaces& unreachable_places) const;

 private:
  Blobs& at(Place place) const;
  Blobs& writable(Place place) const;
  FoundBlob open_twin(const BlobKeys& keys, std::int64_t size, std::shared_ptr<OpenBlob> first,
                      std::string_view reason);
  void log_unknown_place(const std::string& key);
  bool reaches(Place place, UnreachablePlaces* unreachable_places, const std::function<void()>& sweep) const;

  const ByPlace places_;
  Log& log_;
  Metrics& metrics_;
  Owner* const owner_;
  mutable std::mutex mutex_;  // of the plan, of what was said and seen; nothing is done under it
  PlacePlan plan_;
  std::set<std::string> logged_;
  struct Look {
    std::chrono::steady_clock::time_point at;
    std::string trouble;
  };
  std::map<Place, Look> looks_;
};

}  // namespace restante
