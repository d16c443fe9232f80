// TokenUses: when each token was last used, for people who wonder which one is still needed. A token is noted at most
// once a minute, in memory; what has gathered is written together. Thread-safe.
#pragma once
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "store/store.h"

namespace restante::desk {

class TokenUses {
 public:
  TokenUses(Store& store, const Clock& clock) : store_(store), clock_(clock) {}

  void record(TokenId id);
  // Throws Unavailable; what could not be written is forgotten.
  void flush();

 private:
  Store& store_;
  const Clock& clock_;
  std::mutex mutex_;  // requests come on all pool threads
  std::unordered_map<TokenId, SteadyTime> noted_;
  std::vector<std::pair<TokenId, Time>> unwritten_;
};

}  // namespace restante::desk
