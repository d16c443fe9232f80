// Owner: whether what lies in a place outside of the database is this post office's. A place carries a mark, the
// database knows which one; only where both agree may anything be collected, or be called gone. A place that nobody has
// marked is marked when nothing lies there and no row needs anything of it, or when the rows know what lies there; else
// it is somebody else's, or not the one it should be. What cannot be asked is not ours for now. Thread-safe and
// blocking; a look is kept for a few seconds. Owns no place.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "model/owner.h"
#include "store/blobs.h"
#include "store/store.h"

namespace restante {

struct OwnerRules {
  Place setting = Place::dir;  // of `blobs`
  bool alone = false;          // there is no other server on this database
  // Younger bytes may still wait for their row.
  std::chrono::milliseconds grace{std::chrono::hours(1)};
  std::map<Place, std::string> called{};  // the places, for people
};

class Owner {
 public:
  using ByPlace = std::map<Place, std::reference_wrapper<Blobs>>;
  Owner(Store& store, ByPlace places, const Clock& clock, Log& log, Metrics& metrics, OwnerRules rules);

  // A server starts: from now on the database knows who it is. Throws Unavailable.
  void enter();
  // Why a server must not start that writes there; empty when it may, also while the place cannot be asked.
  std::string refusal_reason(Place place);
  // Throws Unavailable unless it is ours: as it was a few seconds ago; as it is now; as far as is known without asking.
  void require(Place place);
  void require_now(Place place);
  void require_not_known_foreign(Place place) const;
  // Throws Unavailable where it was found, a few seconds ago at most, to be not ours. Not to be known is the trouble of
  // whoever could not be asked.
  void require_not_foreign(Place place);
  // Every few seconds, for those that are written to: what they are is looked at, said and counted when it changes.
  void look_at(Place place);
  // What other servers were started with and this one was not; empty when they agree.
  std::string disagreement();
  // It is ours from now on, on the operator's word, with all that lies there. What another post office has marked
  // only by force. Throws OpenRefused.
  enum class Force { no, yes };
  void adopt(Place place, Force force);

 private:
  struct Ownership {
    enum class Kind { ours, not_ours, unknown };
    Kind kind = Kind::unknown;
    std::string reason{};
  };
  struct Look {
    std::chrono::steady_clock::time_point began;
    Ownership ownership;
  };
  enum class Content { nothing, ours, strange };

  Ownership look(Place place, std::chrono::steady_clock::time_point since);
  Ownership judge(Place place);
  Ownership judge_marked(Place place, const Installation& installation, const OwnerMark& found);
  Ownership judge_unmarked(Place place, const Installation& installation);
  OwnerMark fresh_mark(const Installation& installation) const;
  Ownership put_mark(Place place, const Installation& installation, const OwnerMark& mark, Blobs::MarkMode how);
  Ownership record_mark_of(Place place, const Installation& installation, const OwnerMark& found);
  Content content_of(Place place);
  bool is_needed(Place place);
  bool is_used(Place place);
  void report_change(Place place, const Ownership& before, const Ownership& now);
  std::string sentence(Place place, const char* what) const;

  Store& store_;
  const ByPlace places_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  const OwnerRules rules_;
  std::map<Place, std::mutex> looking_;  // one look at a time: who waited for one looks again only if it must
  mutable std::mutex mutex_;             // of what was seen
  std::map<Place, Look> looks_;
  std::atomic<bool> logged_disagreement_{false};
};

}  // namespace restante
