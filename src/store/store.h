// Store: the durable state of the platform. This header is the contract; backends add no promises.
//
// One method is one transaction. No transaction handle crosses this line: a rule that spans two tables (an upload row
// and its inbox row) is a single verb here, so it cannot be half done. Time is an argument; tests own the clock.
// Thread-safe. Reads block; writes return a Commit<T>, true once its group is durable: take it in a test, await it at
// the edge. Throws Unavailable (reads at once, writes through the Commit) when the backend cannot be reached.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "base/commit.h"
#include "base/error.h"
#include "model/activity.h"
#include "model/idempotency.h"
#include "model/token.h"
#include "model/upload.h"
#include "model/workspace.h"

namespace restante {

// A position in one workspace's log: what was appended, for the bell and the answer.
struct Appended {
  ActivityId id;
  std::int64_t seq = 0;
};

struct InboxHead {
  std::int64_t last_seq = 0;
  std::int64_t acked_seq = 0;
  Time last_created_at;
};

struct StagedUpload {
  Upload upload;
  Appended activity;
};

class Store {
 public:
  virtual ~Store() = default;

  // Asks the backend a question only a living one answers. Throws Unavailable.
  virtual void check() = 0;

  // --- workspaces
  // workspace_exists when the chosen id is taken.
  virtual Commit<Result<Workspace>> create_workspace(const NewWorkspace& workspace, Time now) = 0;
  // The same under a claim: idempotency_mismatch when the claim's scope was used for another request.
  virtual Commit<Result<Claimed<Workspace>>> create_workspace_once(const NewWorkspace& workspace, const Claim& claim,
                                                                   Render<Workspace> render, Time now) = 0;
  // workspace_not_found; a removed one is found, with that status.
  virtual Result<Workspace> find_workspace(WorkspaceId id) = 0;
  // Without the removed ones, oldest first.
  virtual std::vector<Workspace> list_workspaces() = 0;
  // The agent said what it is: mode, url and card are taken over and it counts as seen.
  virtual Commit<Result<Workspace>> register_workspace(WorkspaceId id, DeliveryMode mode, std::string url,
                                                       std::string agent_card, Time now) = 0;
  // error_rate >= 0.5 makes it degraded, < 0.1 online again; in between it stays what it was, or comes online.
  virtual Commit<Result<void>> beat_workspace(WorkspaceId id, const Heartbeat& heartbeat, Time now) = 0;
  // bad_parent when the parent is absent, removed, the workspace itself or one of its descendants.
  virtual Commit<Result<Workspace>> patch_workspace(WorkspaceId id, const WorkspacePatch& patch, Time now) = 0;
  // All its tokens are revoked with it, and given, so that what they hold open can be ended. Rows of other tables stay.
  virtual Commit<Result<std::vector<TokenId>>> remove_workspace(WorkspaceId id, Time now) = 0;
  // Online and degraded ones without a sign of life since `silent_since` become offline.
  virtual Commit<Result<std::vector<StatusChange>>> settle_statuses(Time silent_since, Time now) = 0;
  // Its parents, nearest first, at most 32.
  virtual std::vector<WorkspaceId> ancestors(WorkspaceId id) = 0;
  // Sealed by the caller; empty when there is none.
  virtual std::string find_inbound_secret(WorkspaceId id) = 0;
  virtual Commit<Result<void>> set_inbound_secret(WorkspaceId id, std::string sealed, Time now) = 0;
  // Signs of life by polling, gathered in memory and written together: each workspace's latest poll.
  virtual Commit<Result<void>> note_polls(std::span<const std::pair<WorkspaceId, Time>> polls) = 0;

  // --- tokens
  // too_many_tokens beyond 50 live ones of a workspace.
  virtual Commit<Result<Token>> add_token(const NewToken& token, Time now) = 0;
  // Whatever its state: the caller asks live(). None when no token has this hash.
  virtual std::optional<Token> find_token(const Digest& hash) = 0;
  virtual std::optional<Token> find_token(TokenId id) = 0;
  // Newest first; for one workspace, or those of no workspace.
  virtual std::vector<Token> list_tokens(std::optional<WorkspaceId> workspace) = 0;
  // True when it was live until now.
  virtual Commit<Result<bool>> revoke_token(TokenId id, Time now) = 0;
  // The same for a token of this workspace only; anybody else's is as good as absent.
  virtual Commit<Result<bool>> revoke_workspace_token(WorkspaceId workspace, TokenId id, Time now) = 0;
  // last_used_at, gathered in memory and written together.
  virtual Commit<Result<void>> note_token_uses(std::span<const std::pair<TokenId, Time>> uses) = 0;
  // Uses an enrolment token up: it is revoked and a workspace token is added, together. invalid_token when it is not
  // live.
  virtual Commit<Result<Token>> redeem_enrolment(TokenId enrolment, const NewToken& token, Time now) = 0;
  // For an enrolment without a workspace: creates the workspace as well; the token becomes its.
  virtual Commit<Result<Workspace>> redeem_enrolment_for_new(TokenId enrolment, const NewWorkspace& workspace,
                                                             const NewToken& token, Time now) = 0;
  virtual bool has_live_token(WorkspaceId workspace, Time now) = 0;

  // --- inbox
  // Appends one row to the workspace's log. seq grows by commit order within a workspace and created_at never goes back
  // along it. workspace_not_found, workspace_removed.
  virtual Commit<Result<Appended>> append_activity(WorkspaceId workspace, const NewActivity& activity, Time now) = 0;
  virtual Commit<Result<Claimed<Appended>>> append_activity_once(WorkspaceId workspace, const NewActivity& activity,
                                                                 const Claim& claim, Render<Appended> render,
                                                                 Time now) = 0;
  // What has been consumed: only ever forward, never beyond the head. Gives what stands. workspace_not_found.
  virtual Commit<Result<std::int64_t>> ack_activity(WorkspaceId workspace, std::int64_t seq) = 0;
  virtual Result<InboxHead> find_head(WorkspaceId workspace) = 0;
  // One bounded step of retention: of one workspace at a time, rows older than `before`, except a2a_receive rows that
  // were not acked and are younger than `ceiling`; with their message keys, and claims past their expiry. Gives how
  // many rows went; fewer than `limit` means that nothing is left to do.
  virtual Commit<Result<std::int64_t>> prune(Time before, Time ceiling, Time now, int limit) = 0;
  // cursor_gone when the cursor names no row of this workspace or lies above the head (since_seq = 0 always works).
  virtual Result<std::vector<Activity>> read_activity(WorkspaceId workspace, const ActivityQuery& query) = 0;

  // --- uploads
  // Records every item and one inbox row each, in order, or nothing at all. The bytes are already in Blobs: a row is a
  // promise that its content can be read. Nothing is done for an empty list.
  virtual Commit<Result<std::vector<StagedUpload>>> stage_uploads(WorkspaceId workspace,
                                                                  std::span<const NewUpload> items, Time now,
                                                                  Time expires_at) = 0;
  // upload_gone when absent or staged for another workspace. Acked and expired ones are found: the caller decides who
  // may still see them.
  virtual Result<Upload> find_upload(WorkspaceId workspace, FileId id) = 0;
  // Unacked and unexpired, oldest first, after `after` when given.
  virtual std::vector<Upload> list_waiting(WorkspaceId workspace, std::optional<FileId> after, int limit, Time now) = 0;
  // fetched_at moves to `now` unless the row is acked.
  virtual Commit<Result<void>> mark_fetched(WorkspaceId workspace, FileId id, Time now) = 0;
  // The first ack sets acked_at and appends the receipt; a repeated one changes nothing. upload_gone past expires_at,
  // when absent, or of another workspace.
  virtual Commit<Result<Upload>> ack_upload(WorkspaceId workspace, FileId id, Time now) = 0;
};

}  // namespace restante
