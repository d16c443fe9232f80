#include "desk/inbox.h"

#include <algorithm>

#include "model/errors.h"

namespace restante::desk {
namespace {

constexpr int kUsualLimit = 100;
constexpr int kMaxLimit = 500;

}  // namespace

Result<void> Inbox::enter(const Principal& caller, WorkspaceId workspace) {
  const auto found = store_.find_workspace(workspace);
  if (!found) return found.error();
  if (found->status == WorkspaceStatus::removed) return errors::workspace_removed;
  if (caller.is_agent_of(workspace)) presence_.polled(workspace, clock_.now());
  return {};
}

Result<std::vector<Activity>> Inbox::read(WorkspaceId workspace, ActivityQuery query) {
  query.limit = query.limit <= 0 ? kUsualLimit : std::min(query.limit, kMaxLimit);
  return store_.read_activity(workspace, query);
}

}  // namespace restante::desk
