#include "base/jump_guard.h"

namespace restante {
namespace {

constexpr auto kTolerance = std::chrono::minutes(10);

}  // namespace

bool JumpGuard::believable() {
  const Time wall = clock_.now();
  const SteadyTime steady = clock_.steady();
  const auto off = (wall - wall_) - std::chrono::duration_cast<std::chrono::microseconds>(steady - steady_);
  wall_ = wall;
  steady_ = steady;
  if (off > kTolerance || off < -kTolerance) jumped_ = steady;
  if (const unsigned accepted = clock_.acceptances(); accepted != acceptances_) {
    acceptances_ = accepted;
    jumped_.reset();
  }
  if (jumped_ && steady - *jumped_ >= confirm_) jumped_.reset();
  return !jumped_ && clock_.trusted();
}

}  // namespace restante
