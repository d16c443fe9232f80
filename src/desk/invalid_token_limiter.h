// Strikes: how often an address has lately shown a token that is none. Beyond its allowance further ones are refused
// until the minute is over; valid tokens never come here. The addresses are remembered in bounded number, the one that
// has been quiet longest is forgotten first. Thread-safe.
#pragma once
#include <chrono>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"

namespace restante::desk {

class InvalidTokenLimiter {
 public:
  InvalidTokenLimiter(const Clock& clock, unsigned per_minute, std::size_t addresses = 16'384)
      : clock_(clock), per_minute_(per_minute), addresses_(addresses) {}

  // One more from this address. Nothing while that is within its allowance, else for how long it is refused.
  std::optional<std::chrono::seconds> count_invalid(std::string_view address);

 private:
  struct Count {
    std::string address;
    SteadyTime since;
    unsigned count_in_minute = 0;
  };

  const Clock& clock_;
  const unsigned per_minute_;
  const std::size_t addresses_;
  std::mutex mutex_;                                                             // requests come on all pool threads
  std::list<Count> counts_;                                                      // latest first
  std::unordered_map<std::string_view, std::list<Count>::iterator> by_address_;  // keys are the counts' own
};

}  // namespace restante::desk
