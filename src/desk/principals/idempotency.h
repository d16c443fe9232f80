// IdempotencyLocks lets only one request at a time run under an Idempotency-Key. A request that enters a scope locks it
// until its effect is durable. A second request meanwhile gets idempotency_in_progress instead of running twice: a
// message that is being sent to a callback is not in the store yet. The locks are only for running requests of this
// process; the store keeps finished requests with their answers. Thread-safe.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"
#include "model/idempotency.h"
#include "store/claims.h"

namespace restante::desk {

class IdempotencyLocks {
  struct RunningScopes;

 public:
  // Ends with release(), or with the last pointer to it: the client disconnected, the store failed, the server stops.
  class IdempotencyLock {
   public:
    // Holds nothing yet.
    explicit IdempotencyLock(const Digest& scope) : scope_(scope) {}
    ~IdempotencyLock();
    void hold(std::shared_ptr<RunningScopes> running);
    void release();

   private:
    const Digest scope_;
    Mutex mutex_;  // the writer thread may release while the request is destroyed
    std::shared_ptr<RunningScopes> running_ RESTANTE_GUARDED_BY(mutex_);
  };

  IdempotencyLocks(ClaimStore& store, const Clock& clock);

  // idempotency_in_progress while another request holds the scope.
  Result<std::shared_ptr<IdempotencyLock>> enter(const Digest& scope);
  // The kept answer of this claim; none if it is unused. The caller holds the claim's scope. idempotency_mismatch.
  Result<std::optional<std::string>> find(const Claim& claim) {
    return store_.find_answer(claim, clock_.expiry_time());
  }

 private:
  ClaimStore& store_;
  const Clock& clock_;
  std::shared_ptr<RunningScopes> running_;  // locks may outlive this object
};

// The same text for equal JSON values: members are sorted by name, numbers are compared by value, a list keeps its
// order. Used only to compare requests and messages; what is stored and passed on stays as it was sent.
std::string canonical_text(const Json& value);

}  // namespace restante::desk
