// WorkspaceStore: workspaces and what their agents last did.
// One of the parts of Store; store/store.h says what holds for all of them.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/commit.h"
#include "base/error.h"
#include "model/idempotency.h"
#include "model/token.h"
#include "model/workspace.h"

namespace restante {

class WorkspaceStore {
 public:
  virtual ~WorkspaceStore() = default;

  // Also creates its enrolment, if one is requested. workspace_exists when the chosen id is taken.
  virtual Commit<Result<Workspace>> create_workspace(const NewWorkspace& workspace, Time now,
                                                     OptionalClaim<Workspace> claim = {}) = 0;
  // workspace_not_found; a removed one is found, with that status.
  virtual Result<Workspace> find_workspace(WorkspaceId id) = 0;
  // The delivery mode of a workspace, read before every poll and upload. workspace_not_found, workspace_removed.
  virtual Result<DeliveryMode> find_delivery(WorkspaceId id) = 0;
  // Without the removed ones, oldest first.
  virtual std::vector<Workspace> list_workspaces() = 0;
  // Stores what the agent registered, counts as a sign of life and adds its token: all or nothing. workspace_not_found,
  // workspace_removed; invalid_token when the enrolment is not live or belongs to another workspace, or when only a
  // first registration is allowed and the workspace has a live token; workspace_exists when the enrolment should create
  // a workspace that exists by now; too_many_tokens.
  virtual Commit<Result<RegisteredWorkspace>> register_agent(const CheckedRegistration& registration, Time now) = 0;
  // error_rate >= 0.5 makes the workspace degraded, < 0.1 online. In between a degraded one stays degraded, any other
  // becomes online.
  virtual Commit<Result<void>> record_heartbeat(WorkspaceId id, const Heartbeat& heartbeat, Time now) = 0;
  // bad_parent when the parent is absent, removed, the workspace itself or one of its descendants.
  virtual Commit<Result<Workspace>> patch_workspace(WorkspaceId id, const WorkspacePatch& patch, Time now) = 0;
  // Revokes all its tokens and returns them, so that the caller can end their held requests and streams. Rows of other
  // tables stay.
  virtual Commit<Result<std::vector<TokenId>>> remove_workspace(WorkspaceId id, Time now) = 0;
  // Online and degraded ones without a sign of life since `unseen_since` become offline.
  virtual Commit<Result<std::vector<StatusChange>>> set_unseen_agents_offline(Time unseen_since, Time now) = 0;
  // Its parents, nearest first, at most 32.
  virtual std::vector<WorkspaceId> ancestors(WorkspaceId id) = 0;
  // Encrypted by the caller; empty when there is none.
  virtual std::string find_inbound_secret(WorkspaceId id) = 0;
  virtual Commit<Result<void>> set_inbound_secret(WorkspaceId id, std::string sealed, Time now) = 0;
  // Writes polls that were collected in memory. Poll times and acks only move forward. An acked row of another
  // workspace is ignored, and no ack goes beyond the head.
  virtual Commit<Result<void>> record_polls(std::span<const PollRecord> polls) = 0;
};

}  // namespace restante
