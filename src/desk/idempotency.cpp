#include "desk/idempotency.h"

#include "model/errors.h"

namespace restante::desk {

struct IdempotencyLocks::UnderWay {
  std::mutex mutex;  // requests end on the writer's and on any pool thread
  std::set<Digest> scopes;
};

IdempotencyLocks::IdempotencyLock::IdempotencyLock(std::shared_ptr<UnderWay> under_way, const Digest& scope)
    : scope_(scope), under_way_(std::move(under_way)) {}

IdempotencyLocks::IdempotencyLock::~IdempotencyLock() { release(); }

void IdempotencyLocks::IdempotencyLock::release() {
  std::shared_ptr<UnderWay> under_way;
  {
    const std::lock_guard lock(mutex_);
    under_way.swap(under_way_);
  }
  if (!under_way) return;
  const std::lock_guard lock(under_way->mutex);
  under_way->scopes.erase(scope_);
}

IdempotencyLocks::IdempotencyLocks(Store& store, const Clock& clock)
    : store_(store), clock_(clock), under_way_(std::make_shared<UnderWay>()) {}

Result<std::shared_ptr<IdempotencyLocks::IdempotencyLock>> IdempotencyLocks::enter(const Digest& scope) {
  {
    const std::lock_guard lock(under_way_->mutex);
    if (!under_way_->scopes.insert(scope).second) return errors::idempotency_in_progress;
  }
  return std::make_shared<IdempotencyLock>(under_way_, scope);
}

}  // namespace restante::desk
