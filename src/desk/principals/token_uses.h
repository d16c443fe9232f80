// TokenUses records when each token was last used, so that people see which ones are still needed. A use is recorded at
// most once a minute, in memory; flush() writes the recorded uses together. Thread-safe.
#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "store/tokens.h"

namespace restante::desk {

class TokenUses {
 public:
  TokenUses(TokenStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  void record(TokenId id);
  // Throws Unavailable; uses that could not be written are lost.
  void flush();

 private:
  TokenStore& store_;
  const Clock& clock_;
  Mutex mutex_;  // requests come on all pool threads
  std::unordered_map<TokenId, SteadyTime> recorded_ RESTANTE_GUARDED_BY(mutex_);
  std::vector<std::pair<TokenId, Time>> unwritten_ RESTANTE_GUARDED_BY(mutex_);
};

}  // namespace restante::desk
