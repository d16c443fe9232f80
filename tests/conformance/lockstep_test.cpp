// Lockstep: random programs on every backend, side by side with a plain model. RESTANTE_SEED repeats a run.
#include "lockstep.h"

#include <cstdlib>
#include <iostream>

namespace restante::testing {
namespace {

class Lockstep : public ::testing::TestWithParam<BackendKind> {};
RESTANTE_EVERY_BACKEND(Lockstep);

TEST_P(Lockstep, RandomProgramsAnswerAsThePlainModelDoes) {
  const char* given = std::getenv("RESTANTE_SEED");
  const std::uint64_t first = given ? std::stoull(given) : std::random_device()();
  const int programs = given ? 1 : 5;
  for (int i = 0; i < programs && !HasFailure(); ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    std::cout << "RESTANTE_SEED=" << seed << std::endl;
    SCOPED_TRACE("RESTANTE_SEED=" + std::to_string(seed));
    const auto backend = GetParam().make();
    LockstepProgram(*backend, seed).run(700);
  }
}

}  // namespace
}  // namespace restante::testing
