// Inbox: reading a workspace's log. An agent that reads is alive, and says so by reading. Thread-safe.
#pragma once
#include "base/clock.h"
#include "desk/presence.h"
#include "model/principal.h"
#include "store/store.h"

namespace restante::desk {

class Inbox {
 public:
  Inbox(Store& store, Presence& presence, const Clock& clock) : store_(store), presence_(presence), clock_(clock) {}

  // Somebody starts to read: workspace_not_found, workspace_removed. By its own agent it is a sign of life.
  Result<void> enter(const Principal& caller, WorkspaceId workspace);
  // One page. The limit is brought into 1 … 500, where 0 and below ask for the usual 100. cursor_gone.
  Result<std::vector<Activity>> read(WorkspaceId workspace, ActivityQuery query);

 private:
  Store& store_;
  Presence& presence_;
  const Clock& clock_;
};

}  // namespace restante::desk
