// Access: which workspaces may talk to which. Related ones may: itself, parents and ancestors, children and
// descendants, siblings. Two roots may if the operator says so. Thread-safe.
#pragma once
#include <vector>

#include "store/store.h"

namespace restante::desk {

enum class Roots { talk, isolated };

class Access {
 public:
  Access(Store& store, Roots roots) : store_(store), roots_(roots) {}

  // may_not_talk, which is also the answer for one that does not exist: who asks learns nothing about strangers. Of one
  // it could talk to: workspace_removed.
  Result<void> check(WorkspaceId from, WorkspaceId to);
  // Everybody it may talk to, without itself and without the removed ones.
  std::vector<Workspace> peers(WorkspaceId id);

 private:
  Store& store_;
  const Roots roots_;
};

}  // namespace restante::desk
