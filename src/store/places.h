// Places: all places for blobs that this server has, behind one interface. A key has its place as a prefix; Places adds
// and removes it. A new blob is written to the place of the plan; during a blob move to two places: it is stored in
// both or in none. The plan can be changed at any time; a writer keeps the plan it was made with. Does not own the
// Blobs objects. Thread-safe. Throws like the places, and Unavailable for a key of a place that this server does not
// have: the blob is not lost. An unreachable place does not stop the sweep of the others: it is skipped and named. A
// place that another installation owns is skipped too: nothing is written or deleted there, and no blob counts as
// missing (store/owner.h).
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "model/place.h"
#include "store/blobs.h"

namespace restante {

class Owner;

class PlacesWriter {
 public:
  PlacesWriter(std::vector<std::pair<Place, Blobs*>> places);
  void write(std::string_view bytes);
  // The blob is durable and visible in every place, or in none.
  BlobKeys finish();

 private:
  struct Copy {
    Place place;
    Blobs* blobs;
    std::unique_ptr<BlobWriter> writer;
  };
  std::vector<Copy> copies_;
};

// Where a new blob is stored; `also`: the place of its second copy.
struct PlacePlan {
  Place write = Place::dir;
  std::optional<Place> also{};
  bool operator==(const PlacePlan&) const = default;
};

struct FoundBlob {
  std::shared_ptr<OpenBlob> blob;  // null: it is in none of its places
  bool by_twin = false;            // the first place does not have it, or not with this size
};

class Places {
 public:
  using ByPlace = std::map<Place, std::reference_wrapper<Blobs>>;
  // Places that were skipped, with the reason. A caller that passes the same map to several calls tries each place only
  // once. Without a map the calls throw.
  using UnreachablePlaces = std::map<Place, std::string>;
  // Without an owner all places count as ours.
  Places(ByPlace places, PlacePlan plan, Log& log, Metrics& metrics, Owner* owner = nullptr);

  PlacePlan plan() const;
  void set_plan(PlacePlan plan);
  bool has(Place place) const { return places_.contains(place); }
  // Checks the places that the plan writes to, or one place. Throws Unavailable.
  void check();
  void check(Place place);
  // Throws Unavailable when the place is known to be not ours. Does nothing when that cannot be found out.
  void require_not_foreign(Place place);
  // Why the place cannot be used; empty when it can. May be some seconds old: a check writes, and the page asks often.
  std::string trouble(Place place);

  std::unique_ptr<PlacesWriter> put();
  std::unique_ptr<PlacesWriter> put(Place place);
  // The first copy if it exists and has this size, else the second copy, else whatever copy exists. Counts and logs a
  // use of the second copy. Throws Unavailable when one copy cannot be reached and the other does not exist.
  FoundBlob open(const BlobKeys& keys, std::int64_t size);
  // Looks only in the place of this key. Null when the blob is not there, and for an unknown prefix.
  std::shared_ptr<OpenBlob> open(std::string_view key);
  void drop(std::string_view key);
  // Drops a blob that this server has just written and that no row names. Does not check who owns the place: no other
  // server can have this key, and the check would fail while the database is unreachable.
  void drop_unreferenced(std::string_view key);
  // Returns the dropped keys. Keys of a place that this server does not have are kept; that is logged once.
  std::vector<std::string> drop_all(std::span<const std::string> keys, UnreachablePlaces* unreachable_places = nullptr);
  // As in Blobs, over all places; a skipped place has nothing.
  BlobPage list(std::string_view from, Time before, UnreachablePlaces* unreachable_places = nullptr);
  std::size_t drop_unfinished(Time before, UnreachablePlaces* unreachable_places = nullptr);
  std::size_t count_unfinished(Time before, UnreachablePlaces* unreachable_places = nullptr);
  // Throws Unavailable when the plan writes to one of these places, and removes that one from the map. A place that is
  // set up for later, or was used before, may be unreachable.
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
  mutable Mutex mutex_;  // no place is called while it is held
  PlacePlan plan_ RESTANTE_GUARDED_BY(mutex_);
  std::set<std::string> logged_ RESTANTE_GUARDED_BY(mutex_);
  struct CheckResult {
    std::chrono::steady_clock::time_point at;
    std::string trouble;
  };
  std::map<Place, CheckResult> checks_ RESTANTE_GUARDED_BY(mutex_);
};

}  // namespace restante
