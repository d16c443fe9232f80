// WriterProgress: how far a thread that writes is, for a watchdog that notices one that does not move. Values only.
#pragma once
#include <cstdint>

namespace restante {

struct WriterProgress {
  std::uint64_t groups = 0;  // groups of writes that it has taken
  bool busy = false;         // it works on the last of them

  bool operator==(const WriterProgress&) const = default;
};

}  // namespace restante
