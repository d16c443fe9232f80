// Claims: requests under an Idempotency-Key, each in turn. Whoever enters a scope holds it until its effect is settled;
// a second request meanwhile is told so instead of being done twice (a message on its way to a callback is in no store
// yet). This is for the life of a request and this process alone: what was done stands in the store, with its effect.
// Thread-safe.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "model/idempotency.h"
#include "store/store.h"

namespace restante::desk {

class IdempotencyLocks {
  struct UnderWay;

 public:
  // Ends with release(), or with the last copy of the pointer to it: the client left, the store failed, we stop.
  class IdempotencyLock {
   public:
    IdempotencyLock(std::shared_ptr<UnderWay> under_way, const Digest& scope);
    ~IdempotencyLock();
    IdempotencyLock(const IdempotencyLock&) = delete;
    IdempotencyLock& operator=(const IdempotencyLock&) = delete;
    void release();

   private:
    const Digest scope_;
    std::mutex mutex_;  // released by the writer while the edge lets go of the request
    std::shared_ptr<UnderWay> under_way_;
  };

  IdempotencyLocks(Store& store, const Clock& clock);

  // idempotency_in_progress while somebody holds the scope.
  Result<std::shared_ptr<IdempotencyLock>> enter(const Digest& scope);
  // What was answered under this claim, for whoever holds its scope; nothing when it is unused. idempotency_mismatch.
  Result<std::optional<std::string>> find(const Claim& claim) { return store_.find_answer(claim, clock_.now()); }

 private:
  Store& store_;
  const Clock& clock_;
  std::shared_ptr<UnderWay> under_way_;  // holds may outlive the desk
};

}  // namespace restante::desk
