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
  virtual std::vector<Workspace> list_workspaces(const WorkspacePage& page = {}) = 0;
  // The relatives of a workspace, oldest first, without itself and the removed ones: its ancestors and descendants up
  // to 32 hops, and its siblings. If `roots` is set, workspaces without a parent count as siblings. The cost grows with
  // the page and the number of descendants, not with the number of workspaces.
  virtual std::vector<Workspace> list_relatives(WorkspaceId id, bool roots, const WorkspacePage& page = {}) = 0;
  // Stores what the agent registered, counts as a sign of life, adds its token and its inbound secret: all or nothing.
  // workspace_not_found, workspace_removed; invalid_token when the enrolment is not live or belongs to another
  // workspace, or when only a first registration is allowed and the workspace has a live token; workspace_exists when
  // the enrolment should create a workspace that exists by now; too_many_tokens; bad_field as delivery_after() says.
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
  // Stores the secret if the one that it replaces is still there. Returns the one that is stored now: all callers get
  // the same. workspace_not_found, workspace_removed; so does set_inbound_secret(), which always stores.
  virtual Commit<Result<std::string>> ensure_inbound_secret(WorkspaceId id, NewInboundSecret secret, Time now) = 0;
  virtual Commit<Result<void>> set_inbound_secret(WorkspaceId id, std::string sealed, Time now) = 0;
  // Writes polls that were collected in memory. Poll times and acks only move forward. An acked row of another
  // workspace is ignored, and no ack goes beyond the head.
  virtual Commit<Result<void>> record_polls(std::span<const PollRecord> polls) = 0;

  // Which agents were reported as silent is stored, until they poll again (record_polls). On a schema from before
  // uploads no agent is ever silent.
  virtual bool is_reported_silent(WorkspaceId id) = 0;
  virtual std::int64_t count_silent_agents() = 0;
  // Agents in poll mode that polled at least once and last polled before that time, if they were not reported yet.
  virtual std::vector<QuietAgent> list_quiet_agents(Time polled_before) = 0;
  // Records that these agents are silent. Ignores one that was reported before, is not in poll mode any more, was
  // removed, or has polled after its last_poll_at. Returns the others: each silence is returned to one caller.
  virtual Commit<Result<std::vector<WorkspaceId>>> record_silences(std::vector<QuietAgent> agents, Time now) = 0;
};

}  // namespace restante
