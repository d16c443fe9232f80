// Owner: checks whether a place outside of the database belongs to this installation. A place has a mark, and the
// database stores the mark that it expects there. Only while both agree may blobs be deleted or counted as missing. An
// empty place gets a mark at the first start. Every other place without the expected mark is refused, with a sentence
// that names the command by which the operator may adopt it. While the check cannot be made, the place counts as not
// ours. Thread-safe and blocking; the result of a check is kept for a few seconds. Does not own the Blobs objects.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "base/mutex.h"
#include "model/owner.h"
#include "store/blobs.h"
#include "store/store.h"

namespace restante {

struct OwnerRules {
  Place setting = Place::dir;                  // the setting `blobs`
  bool alone = false;                          // no other server can use this database
  std::map<Place, std::string> place_names{};  // in messages for people
};

class Owner {
 public:
  using ByPlace = std::map<Place, std::reference_wrapper<Blobs>>;
  Owner(Store& store, ByPlace places, const Clock& clock, Log& log, Metrics& metrics, OwnerRules rules);

  // Called when the server starts: makes sure that the database has an installation id. Throws Unavailable.
  void ensure_installation();
  // Why a server that writes to this place must not start; empty when it may, also while the place cannot be checked.
  std::string refusal_reason(Place place);
  // Throw Unavailable unless the place is ours: by a check of the last seconds, or by a new check.
  void require(Place place);
  void require_now(Place place);
  // Throws Unavailable if the last check, however old, found that the place is not ours. Makes no check, unless the
  // place may have no mark yet: a file without a mark beside it would make the place a foreign one.
  void require_writable(Place place);
  // Throws Unavailable if a check of the last seconds found that the place is not ours. Does not throw when the check
  // failed: whatever could not be reached reports that itself.
  void require_not_foreign(Place place);
  // Called every few seconds for the places that are written to. Checks, and logs and counts a change.
  void recheck(Place place);
  // How the setting of other servers differs from this one's; empty when they agree.
  std::string disagreement();
  // Makes this installation the owner of the place with all its blobs, on the operator's command. A place with the mark
  // of another installation needs Force::yes. Throws OpenRefused.
  enum class Force { no, yes };
  void adopt(Place place, Force force);

 private:
  struct Ownership {
    enum class Kind { ours, not_ours, unknown };
    Kind kind = Kind::unknown;
    std::string reason{};
    bool may_write = true;
  };
  struct CheckResult {
    std::chrono::steady_clock::time_point began;
    Ownership ownership;
  };

  // The result of a check that began at `since` or later.
  Ownership ownership_of(Place place, std::chrono::steady_clock::time_point since);
  Ownership check(Place place);
  Ownership check_marked(Place place, const Installation& installation, const std::string& text);
  Ownership check_unmarked(Place place, const Installation& installation);
  Ownership put_mark(Place place, const Installation& installation, Blobs::MarkMode how);
  Ownership record_mark_of(Place place, const Installation& installation, const OwnerMark& found);
  Ownership refusal(Place place, const char* why) const;
  bool is_empty(Place place);
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
  std::map<Place, Mutex> checking_;  // one check at a time: a thread that waited for one may use its result
  Mutex mutex_;
  std::map<Place, CheckResult> results_ RESTANTE_GUARDED_BY(mutex_);
  std::atomic<bool> logged_disagreement_{false};
};

}  // namespace restante
