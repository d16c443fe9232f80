#include "desk/idempotency.h"

#include "model/errors.h"

namespace restante::desk {

struct Claims::UnderWay {
  std::mutex mutex;  // requests end on the writer's and on any pool thread
  std::set<Digest> scopes;
};

Claims::Hold::Hold(std::shared_ptr<UnderWay> home, const Digest& scope) : scope_(scope), home_(std::move(home)) {}

Claims::Hold::~Hold() { release(); }

void Claims::Hold::release() {
  std::shared_ptr<UnderWay> home;
  {
    const std::lock_guard lock(mutex_);
    home.swap(home_);
  }
  if (!home) return;
  const std::lock_guard lock(home->mutex);
  home->scopes.erase(scope_);
}

Claims::Claims(Store& store, const Clock& clock)
    : store_(store), clock_(clock), under_way_(std::make_shared<UnderWay>()) {}

Result<std::shared_ptr<Claims::Hold>> Claims::enter(const Digest& scope) {
  {
    const std::lock_guard lock(under_way_->mutex);
    if (!under_way_->scopes.insert(scope).second) return errors::idempotency_in_progress;
  }
  return std::make_shared<Hold>(under_way_, scope);
}

}  // namespace restante::desk
