// Access decides which workspaces may talk to each other. A workspace may talk to itself, its ancestors, its
// descendants and its siblings. Two roots (workspaces without a parent) may talk if the setting access.roots allows it.
// Thread-safe.
#pragma once
#include <vector>

#include "store/workspaces.h"

namespace restante::desk {

enum class Roots { talk, isolated };

class Access {
 public:
  Access(WorkspaceStore& store, Roots roots) : store_(store), roots_(roots) {}

  // The other workspace. may_not_talk, also if it does not exist: the caller learns nothing about workspaces it may not
  // talk to. workspace_removed if it could talk to the other one.
  Result<Workspace> check(WorkspaceId from, WorkspaceId to);
  // The workspaces it may talk to, without itself and without removed ones, oldest first.
  std::vector<Workspace> peers(WorkspaceId id, const WorkspacePage& page = {}) {
    return store_.list_relatives(id, roots_ == Roots::talk, page);
  }

 private:
  WorkspaceStore& store_;
  const Roots roots_;
};

}  // namespace restante::desk
