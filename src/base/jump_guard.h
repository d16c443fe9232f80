// JumpGuard protects a loop that deletes by age from a wall clock that has just been set. Each call compares the wall
// clock with the steady clock. After a jump of more than ten minutes, in either direction, it trusts the new time only
// after a whole confirm period without another jump, or when the operator accepts it. A machine that slept looks the
// same and only waits. A time that the clock itself does not trust is not believable either. One per loop; belongs to
// one thread at a time.
#pragma once
#include <optional>

#include "base/clock.h"

namespace restante {

class JumpGuard {
 public:
  JumpGuard(const Clock& clock, std::chrono::milliseconds confirm)
      : clock_(clock),
        confirm_(confirm),
        wall_(clock.now()),
        steady_(clock.steady()),
        acceptances_(clock.acceptances()) {}

  // Whether the wall clock can be trusted for deleting now.
  bool believable();

 private:
  const Clock& clock_;
  const std::chrono::milliseconds confirm_;
  Time wall_;
  SteadyTime steady_;
  unsigned acceptances_;
  std::optional<SteadyTime> jumped_;
};

}  // namespace restante
