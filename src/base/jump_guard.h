// JumpGuard: keeps a loop that deletes by age from believing a wall clock that has just been set. It compares the wall
// clock with the steady one from question to question; after a jump of more than ten minutes, to either side, the new
// time is believed only once it has stood for a whole confirm period. A machine that slept looks the same and merely
// waits. One per loop; belongs to one thread at a time.
#pragma once
#include <optional>

#include "base/clock.h"

namespace restante {

class JumpGuard {
 public:
  JumpGuard(const Clock& clock, std::chrono::milliseconds confirm)
      : clock_(clock), confirm_(confirm), wall_(clock.now()), steady_(clock.steady()) {}

  // May what follows from the wall clock be done now?
  bool believable();

 private:
  const Clock& clock_;
  const std::chrono::milliseconds confirm_;
  Time wall_;
  SteadyTime steady_;
  std::optional<SteadyTime> jumped_;
};

}  // namespace restante
