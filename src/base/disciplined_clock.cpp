#include "base/disciplined_clock.h"

namespace restante {
namespace {

std::int64_t micros(SteadyTime at) {
  return std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()).count();
}

}  // namespace

Time DisciplinedClock::now() const {
  const std::int64_t ahead = ahead_.load();
  return ahead == kNotSet ? SystemClock().now() : Time(std::chrono::microseconds(micros(steady()) + ahead));
}

void DisciplinedClock::set(Time time, SteadyTime at) { ahead_.store(time.time_since_epoch().count() - micros(at)); }

}  // namespace restante
