// LoopTick is the state of one of the server's background loops, for the operator. Values only.
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
  std::optional<Time> last_tick_at;  // when a run last ended, successful or not
  Time due_at;                       // of the next run, or of the one that is running
  bool failed = false;               // the last run failed; the log has the reason
  std::int64_t failures = 0;         // since the start
};

}  // namespace restante
