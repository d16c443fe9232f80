// LoopTick: how one of the server's background loops is doing, for the operator. Values only.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"

namespace restante {

struct LoopTick {
  std::string name;
  std::chrono::milliseconds period{0};
  std::optional<Time> last_tick_at;  // when a run last ended, well or not
  Time due_at;                       // of the next, or of the one that is running
  bool failed = false;               // the last one did; the log says why
  std::int64_t failures = 0;         // since the start
};

}  // namespace restante
