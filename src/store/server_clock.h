// ClockStore: the newest time that a server of this installation has trusted. A start compares its clock with it.
// One of the parts of Store; store/store.h says what holds for all of them.
#pragma once
#include <optional>

#include "base/clock.h"
#include "base/commit.h"
#include "base/error.h"

namespace restante {

class ClockStore {
 public:
  virtual ~ClockStore() = default;

  // None on new data.
  virtual std::optional<Time> find_clock() = 0;
  // Also when it is earlier than the stored one: the operator may have said that the clock is right.
  virtual Commit<Result<void>> record_clock(Time trusted) = 0;
};

}  // namespace restante
