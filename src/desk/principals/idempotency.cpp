#include "desk/principals/idempotency.h"

#include "model/errors.h"

namespace restante::desk {

struct IdempotencyLocks::RunningScopes {
  Mutex mutex;  // requests end on the writer's and on any pool thread
  std::set<Digest> scopes RESTANTE_GUARDED_BY(mutex);
};

IdempotencyLocks::IdempotencyLock::IdempotencyLock(std::shared_ptr<RunningScopes> running, const Digest& scope)
    : scope_(scope), running_(std::move(running)) {}

IdempotencyLocks::IdempotencyLock::~IdempotencyLock() { release(); }

void IdempotencyLocks::IdempotencyLock::release() {
  std::shared_ptr<RunningScopes> running;
  {
    const MutexLock lock(mutex_);
    running.swap(running_);
  }
  if (!running) return;
  const MutexLock lock(running->mutex);
  running->scopes.erase(scope_);
}

IdempotencyLocks::IdempotencyLocks(ClaimStore& store, const Clock& clock)
    : store_(store), clock_(clock), running_(std::make_shared<RunningScopes>()) {}

Result<std::shared_ptr<IdempotencyLocks::IdempotencyLock>> IdempotencyLocks::enter(const Digest& scope) {
  {
    const MutexLock lock(running_->mutex);
    if (!running_->scopes.insert(scope).second) return errors::idempotency_in_progress;
  }
  return std::make_shared<IdempotencyLock>(running_, scope);
}

}  // namespace restante::desk
