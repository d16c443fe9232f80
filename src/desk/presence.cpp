#include "desk/presence.h"

namespace restante::desk {

void Presence::polled(WorkspaceId id, Time now) {
  const std::lock_guard lock(mutex_);
  latest_[id] = now;
}

void Presence::flush() {
  std::vector<std::pair<WorkspaceId, Time>> polls;
  {
    const std::lock_guard lock(mutex_);
    polls.assign(latest_.begin(), latest_.end());
    latest_.clear();
  }
  if (!polls.empty()) (void)store_.note_polls(polls).take();
}

}  // namespace restante::desk
