#include "desk/workspaces/access.h"

#include <algorithm>

#include "model/errors.h"

namespace restante::desk {
namespace {

bool contains(const std::vector<WorkspaceId>& ids, WorkspaceId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

bool related(WorkspaceId from, const std::vector<WorkspaceId>& above_from, WorkspaceId to,
             const std::vector<WorkspaceId>& above_to, Roots roots) {
  if (from == to || contains(above_from, to) || contains(above_to, from)) return true;
  if (above_from.empty() && above_to.empty()) return roots == Roots::talk;
  return !above_from.empty() && !above_to.empty() && above_from.front() == above_to.front();
}

}  // namespace

Result<Workspace> Access::check(WorkspaceId from, WorkspaceId to) {
  auto target = store_.find_workspace(to);
  if (!target || !store_.find_workspace(from)) return errors::may_not_talk;
  if (!related(from, store_.ancestors(from), to, store_.ancestors(to), roots_)) return errors::may_not_talk;
  if (target->status == WorkspaceStatus::removed) return errors::workspace_removed;
  return std::move(*target);
}

}  // namespace restante::desk
