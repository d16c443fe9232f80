// InvalidTokenLimiter counts how often an address has sent an invalid token in the last minute. Beyond the limit
// further invalid tokens are refused until the minute is over; valid tokens are never counted. The number of remembered
// addresses is bounded; the address that was inactive longest is forgotten first. Thread-safe.
#pragma once
#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/mutex.h"

namespace restante::desk {

class InvalidTokenLimiter {
 public:
  InvalidTokenLimiter(const Clock& clock, unsigned per_minute, std::size_t addresses = 16'384)
      : clock_(clock), per_minute_(per_minute), addresses_(addresses) {}

  // Counts one invalid token. None within the limit, else how long the address is refused.
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
  Mutex mutex_;                                          // requests come on all pool threads
  std::list<Count> counts_ RESTANTE_GUARDED_BY(mutex_);  // latest first
  // The keys are views of counts_' addresses.
  std::unordered_map<std::string_view, std::list<Count>::iterator> by_address_ RESTANTE_GUARDED_BY(mutex_);
};

}  // namespace restante::desk
