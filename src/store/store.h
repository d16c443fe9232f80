// Store: the interface to the database. This header is the contract; backends add no promises.
//
// One method is one transaction. No transaction handle is part of the interface: a rule that spans two tables (an
// upload row and its inbox row) is a single method here, so it cannot be half done. Time is an argument, so that tests
// control the clock. Thread-safe. Reads block. Writes return a Commit<T>, which has its value once its group of writes
// is durable: tests take() it, src/net awaits it. Throws Unavailable (reads at once, writes through the Commit) when
// the backend cannot be reached.
#pragma once
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/commit.h"
#include "base/error.h"
#include "model/blob_check.h"
#include "model/blob_move.h"
#include "model/delegation.h"
#include "model/idempotency.h"
#include "model/inbox_row.h"
#include "model/owner.h"
#include "model/token.h"
#include "model/upload.h"
#include "model/upload_stats.h"
#include "model/workspace.h"
#include "store/chunks.h"
#include "store/delegation_lifecycle.h"

namespace restante {

// The position of a row in a workspace's inbox. The bell and the answer to the client need it.
struct Appended {
  InboxRowId id;
  std::int64_t seq = 0;
  bool repeated = false;  // the same message was there already: nothing was appended
};

struct InboxHead {
  std::int64_t last_seq = 0;
  std::int64_t acked_seq = 0;
  Time last_created_at;
};

struct StagedUpload {
  Upload upload;
  Appended activity;  // its inbox row; an outgoing upload has none: seq is 0
};

// An upload after the call, and the receipt that was appended to the inbox; no receipt when nothing changed.
struct UploadChange {
  Upload upload;
  std::optional<Appended> receipt;
};

struct SweptUploads {
  std::int64_t acked = 0;
  std::vector<UploadChange> expired;  // outgoing ones have no receipt
  bool more = false;                  // the limit was reached: more uploads may be due
};

// A message and the files that came with it. For a repeated message `files` is empty: they were staged the first time.
struct SentMessage {
  Appended activity;
  std::vector<StagedUpload> files;
};

// A row that was appended to the inbox of `workspace`.
struct AppendedRow {
  WorkspaceId workspace;
  Appended at;
};

// A new delegation, or the one that was there already (a hit). A hit changes nothing.
struct OpenedDelegation {
  Delegation delegation;
  bool hit = false;
  std::vector<AppendedRow> rows;
  std::vector<StagedUpload> files;
};

// A delegation after a report, and the rows and files that the report added.
struct DelegationChange {
  DelegationOutcome outcome = DelegationOutcome::repeated;
  Delegation delegation;
  std::vector<AppendedRow> rows;
  std::vector<StagedUpload> files;
};

struct SweptDelegations {
  std::vector<DelegationChange> changes;
  bool more = false;  // the limit was reached: more delegations may be due
};

// Which database is used, for the operator.
struct StoreFacts {
  std::string engine;         // "SQLite", "PostgreSQL"
  std::string version;        // the engine's own version text
  int schema = 0;             // number of the newest applied migration
  std::string schema_name{};  // its name
};

class Store {
 public:
  virtual ~Store() = default;

  // Runs a query that succeeds only when the backend works. Throws Unavailable.
  virtual void check() = 0;
  virtual StoreFacts describe() = 0;

  // --- claims
  // The answer that was kept under this claim; nothing when the claim is unused or has expired. idempotency_mismatch.
  virtual Result<std::optional<std::string>> find_answer(const Claim& claim, Time now) = 0;

  // --- workspaces
  // Also creates its enrolment, if one is requested. workspace_exists when the chosen id is taken.
  virtual Commit<Result<Workspace>> create_workspace(const NewWorkspace& workspace, Time now) = 0;
  // The same under an idempotency claim. idempotency_mismatch when the claim's scope was used for another request.
  virtual Commit<Result<Claimed<Workspace>>> create_workspace_once(const NewWorkspace& workspace, const Claim& claim,
                                                                   Render<Workspace> render, Time now) = 0;
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
  virtual Commit<Result<void>> beat_workspace(WorkspaceId id, const Heartbeat& heartbeat, Time now) = 0;
  // bad_parent when the parent is absent, removed, the workspace itself or one of its descendants.
  virtual Commit<Result<Workspace>> patch_workspace(WorkspaceId id, const WorkspacePatch& patch, Time now) = 0;
  // Revokes all its tokens and returns them, so that the caller can end their held requests and streams. Rows of other
  // tables stay.
  virtual Commit<Result<std::vector<TokenId>>> remove_workspace(WorkspaceId id, Time now) = 0;
  // Online and degraded ones without a sign of life since `silent_since` become offline.
  virtual Commit<Result<std::vector<StatusChange>>> settle_statuses(Time silent_since, Time now) = 0;
  // Its parents, nearest first, at most 32.
  virtual std::vector<WorkspaceId> ancestors(WorkspaceId id) = 0;
  // Encrypted by the caller; empty when there is none.
  virtual std::string find_inbound_secret(WorkspaceId id) = 0;
  virtual Commit<Result<void>> set_inbound_secret(WorkspaceId id, std::string sealed, Time now) = 0;
  // Writes polls that were collected in memory. Poll times and acks only move forward. An acked row of another
  // workspace is ignored, and no ack goes beyond the head.
  virtual Commit<Result<void>> record_polls(std::span<const PollRecord> polls) = 0;

  // --- tokens
  // too_many_tokens beyond 50 live ones of a workspace; invalid_token when `opened_by` names a token that is not live.
  virtual Commit<Result<Token>> add_token(const NewToken& token, Time now) = 0;
  // In any state: the caller checks live(). None when no token has this hash.
  virtual std::optional<Token> find_token(const Digest& hash) = 0;
  virtual std::optional<Token> find_token(TokenId id) = 0;
  // Newest first; those of one workspace, or those that have no workspace.
  virtual std::vector<Token> list_tokens(std::optional<WorkspaceId> workspace) = 0;
  // Also revokes the sessions that it opened. True when it was live until now.
  virtual Commit<Result<bool>> revoke_token(TokenId id, Time now) = 0;
  // The same for a token of this workspace only; a token of another workspace counts as absent.
  virtual Commit<Result<bool>> revoke_workspace_token(WorkspaceId workspace, TokenId id, Time now) = 0;
  // Writes values of last_used_at that were collected in memory.
  virtual Commit<Result<void>> record_token_uses(std::span<const std::pair<TokenId, Time>> uses) = 0;
  virtual bool has_live_token(WorkspaceId workspace, Time now) = 0;

  // --- inbox
  // Appends one row to the workspace's inbox. Within a workspace seq grows in commit order, and created_at never
  // decreases with growing seq. workspace_not_found, workspace_removed.
  virtual Commit<Result<Appended>> append_to_inbox(WorkspaceId workspace, const NewInboxRow& row, Time now) = 0;
  virtual Commit<Result<Claimed<Appended>>> append_to_inbox_once(WorkspaceId workspace, const NewInboxRow& row,
                                                                 const Claim& claim, Render<Appended> render,
                                                                 Time now) = 0;
  // The same with files. Each must be an outgoing file of its owner that is not expired and not damaged
  // (attachment_gone). It is staged for `workspace` under its new id and shares the blob; its own inbox row comes
  // before the message. The body already names the new ids; to detect a repeated message, the source ids are put back
  // in their place. The direction of `terms` is ignored. quota_exceeded.
  virtual Commit<Result<SentMessage>> append_to_inbox_with_files(WorkspaceId workspace, const NewInboxRow& row,
                                                                 std::vector<OutgoingFile> files,
                                                                 const StagingTerms& terms, Time now) = 0;
  virtual Commit<Result<Claimed<SentMessage>>> append_to_inbox_with_files_once(
      WorkspaceId workspace, const NewInboxRow& row, std::vector<OutgoingFile> files, const StagingTerms& terms,
      const Claim& claim, Render<SentMessage> render, Time now) = 0;
  // Sets how far the agent has read: only forward, never beyond the head. Returns the value now. workspace_not_found.
  virtual Commit<Result<std::int64_t>> ack_inbox(WorkspaceId workspace, std::int64_t seq) = 0;
  virtual Result<InboxHead> find_head(WorkspaceId workspace) = 0;
  // One bounded step of retention. Deletes inbox rows older than `before` with their message keys, one workspace after
  // the other, but keeps a2a_receive rows that were not acked and are younger than `ceiling`. Deletes expired claims,
  // the status of uploads that ended before `before`, and delegations that ended before it. Returns the number of
  // deleted rows; fewer than `limit` means that nothing is left to do.
  virtual Commit<Result<std::int64_t>> prune(Time before, Time ceiling, Time now, int limit) = 0;
  // cursor_gone when the cursor names no row of this workspace or is above the head (since_seq = 0 always works).
  virtual Result<std::vector<InboxRow>> read_inbox(WorkspaceId workspace, const InboxQuery& query) = 0;

  // --- uploads
  // False when the tables of uploads do not exist yet (migrate = false). Then everything else works, and these methods
  // answer as if no file had ever been staged: staging is no_callback, a file is upload_gone or attachment_gone, lists
  // are empty.
  virtual bool uploads_ready() const = 0;
  // Adds every item in order, with one inbox row for each incoming one, or nothing at all. The content is already in
  // Places or in the item: a row promises that its content can be read. Does nothing for an empty list. quota_exceeded,
  // counting all uploads of the workspace in both directions that are not acked; workspace_not_found,
  // workspace_removed.
  virtual Commit<Result<std::vector<StagedUpload>>> stage_uploads(WorkspaceId workspace, std::vector<NewUpload> items,
                                                                  const StagingTerms& terms, Time now) = 0;
  virtual Commit<Result<Claimed<std::vector<StagedUpload>>>> stage_uploads_once(
      WorkspaceId workspace, std::vector<NewUpload> items, const StagingTerms& terms, const Claim& claim,
      Render<std::vector<StagedUpload>> render, Time now) = 0;
  // upload_gone when absent or staged for another workspace. Also finds acked, expired and outgoing ones: the caller
  // decides who may see them. Without the content.
  virtual Result<Upload> find_upload(WorkspaceId workspace, FileId id) = 0;
  // The same with `content`, if the row keeps it.
  virtual Result<Upload> read_upload(WorkspaceId workspace, FileId id) = 0;
  // Also the status of deleted uploads, for as long as inbox rows are kept. upload_gone.
  virtual Result<UploadStatus> find_upload_status(WorkspaceId workspace, FileId id, Time now) = 0;
  // An outgoing file with this digest that is not expired and not damaged; of several the one that expires last.
  virtual std::optional<Upload> find_outgoing(WorkspaceId workspace, const Digest& sha256, Time now) = 0;
  // Incoming, unacked and unexpired ones, oldest first, after `after` when given.
  virtual std::vector<Upload> list_waiting(WorkspaceId workspace, std::optional<FileId> after, int limit, Time now) = 0;
  // One group, in the order of expiry; the acked ones in the order of their acks.
  virtual std::vector<Upload> list_uploads(const UploadFilter& filter, Time now) = 0;
  // Every row in any state, ordered by id, to go through all of them. `after` may have been deleted meanwhile.
  virtual std::vector<Upload> walk_uploads(std::optional<FileId> after, int limit) = 0;
  // Exact figures of one moment. Reads the stored counts; only overdue and damaged rows are counted one by one.
  virtual PlatformUploadStats upload_stats(Time now) = 0;
  // fetched_at moves to `now` unless the row is acked or outgoing.
  virtual Commit<Result<void>> mark_fetched(WorkspaceId workspace, FileId id, Time now) = 0;
  // The first ack sets acked_at and appends the receipt; a repeated one changes nothing. upload_gone past expires_at,
  // when absent, outgoing, or of another workspace.
  virtual Commit<Result<UploadChange>> ack_upload(WorkspaceId workspace, FileId id, Time now) = 0;
  // The agent could not take the file: sets failed_at and the reason (cut to kMaxReasonBytes) and appends a receipt.
  // The upload stays until it expires, and a later ack wins. The same reason again, no reason, or a damaged upload
  // changes nothing. upload_gone as for an ack, and when acked.
  virtual Commit<Result<UploadChange>> fail_upload(WorkspaceId workspace, FileId id, std::string reason, Time now) = 0;
  // The content is not what was staged: marks the row, and all rows that share the blob, as damaged for as long as they
  // exist. Those that an agent still waits for become failed, with sentence_of() as the reason and a receipt. Returns
  // the marked rows ordered by id; none when the damage was known. upload_gone when absent or of another workspace.
  virtual Commit<Result<std::vector<UploadChange>>> mark_damaged(WorkspaceId workspace, FileId id, UploadDamage damage,
                                                                 Time now) = 0;
  // Deletes the row and appends a receipt unless the upload is outgoing. `recalled_by` must be the token that staged
  // it; without one any upload may be recalled. upload_already_acked; upload_gone when absent, expired, of another
  // workspace or another sender.
  virtual Commit<Result<UploadChange>> recall_upload(WorkspaceId workspace, FileId id,
                                                     std::optional<TokenId> recalled_by, Time now) = 0;
  // One bounded step: deletes acked rows older than the retention and unacked ones past expires_at, the longest due
  // first, at most `limit` together. Expired ones get a receipt. When nothing is due it costs two index lookups.
  virtual Commit<Result<SweptUploads>> sweep_uploads(std::chrono::seconds ack_retention, int limit, Time now) = 0;

  // --- dropped blobs: their last row was deleted. Rows may share a blob. It is listed here when no row names it in
  // either key, in the same transaction.
  // Ordered by key, after `after`. Keys of `dir` at once, since a reader keeps its file open; keys of other places when
  // they were dropped before `remote_before`.
  virtual std::vector<std::string> list_dropped_blobs(int limit, Time remote_before, const std::string& after) = 0;
  // Called once they are deleted from Places.
  virtual Commit<Result<void>> forget_dropped_blobs(std::vector<std::string> keys) = 0;
  // Those of `keys` that a row needs or that are listed as dropped, in the same order. The rest are orphans, if they
  // are old enough.
  virtual std::vector<std::string> known_blobs(std::span<const std::string> keys) = 0;
  // Blobs in the database itself. Throws Unavailable when its tables do not exist yet.
  virtual Chunks& chunks() = 0;

  // --- blob moves
  // The running blob move, or the last one.
  virtual std::optional<BlobMove> find_blob_move() = 0;
  // By the rule of begin_blob_move() in model/blob_move.h. blob_move_under_way.
  virtual Commit<Result<BegunBlobMove>> begin_blob_move(Place from, Place to, std::int64_t rate, Time now) = 0;
  // Changes the phase from `was.phase`. False when the blob move is in another phase by now, or is another blob move.
  virtual Commit<Result<bool>> advance_blob_move(const BlobMove& was, BlobPhase phase, Time now) = 0;
  // Takes or extends the lease of the server that copies. False when another worker has it, or no move was ever begun.
  virtual Commit<Result<bool>> hold_blob_move(WorkerId worker, Time until, Time now) = 0;
  // Blobs that rows need and whose key of this role is in `place`, ordered by that key, after `after`. By first key,
  // damaged blobs are left out.
  virtual std::vector<MovingBlob> list_blobs(KeyRole role, Place place, const std::string& after, int limit) = 0;
  // Every row with the old keys of a change gets its new keys. Old keys that no row names any more are listed as
  // dropped. Returns the number of changed rows; rows that were deleted or changed meanwhile are skipped.
  virtual Commit<Result<std::int64_t>> place_blobs(std::vector<BlobChange> changes, Time now) = 0;
  // Figures of every place, in the order of kPlaces. Counts rows: for the operator, not for every second.
  virtual std::vector<PlaceFigures> count_blobs() = 0;

  // --- ownership of places outside of the database. Everything here throws Unavailable while the tables do not exist.
  // None before the first server has started on the database.
  virtual std::optional<Installation> find_installation() = 0;
  // Called when a server starts with this setting. Creates the installation with the id `fresh` if there is none, and
  // stores the setting. Returns the installation as it was before, with the setting of the previous start; on the first
  // start with its own.
  virtual Commit<Result<Installation>> ensure_installation(InstallationId fresh, Place setting) = 0;
  // Sets the mark that is expected in a place from now on. False when the stored one is not `was` any more.
  virtual Commit<Result<bool>> record_mark(Place place, const std::optional<OwnerMark>& was, const OwnerMark& is) = 0;
  // Deletes the installation and its marks: the next server that starts creates a new one.
  virtual Commit<Result<void>> reset_installation() = 0;

  // --- blob checks. While their table does not exist there is none, and none can begin (Unavailable).
  // The running one, or the last one, as its server last wrote it. Its lease shows whether that server still runs it.
  virtual std::optional<BlobCheckRow> find_blob_check() = 0;
  // By the rule of begin_blob_check() in model/blob_check.h. blob_check_running.
  virtual Commit<Result<BlobCheckRow>> begin_blob_check(const NewBlobCheck& wanted, Time now) = 0;
  // False when the check has ended, or another worker has it.
  virtual Commit<Result<bool>> update_blob_check(BlobCheckUpdate update) = 0;

  // --- delegations
  // False when their tables do not exist yet (migrate = false). Then everything here throws Unavailable.
  virtual bool delegations_ready() const = 0;
  // Adds the row, stages the files and appends the task to the inbox of the receiving agent (unless it is recorded or
  // its callback is called first), and appends a note to the caller's inbox. An id of the same caller, or an
  // idempotency key that it still holds, is a hit and changes nothing. A file that was sent before may be sent again as
  // long as its blob is stored. bad_field when caller and receiving agent are the same; delegation_id_taken;
  // delegation_not_found for a parent that is not a task of the caller, or a retried task that it did not give;
  // delegation_ended when the parent has ended, delegation_in_flight when the retried task has not;
  // delegation_too_deep, delegation_cycle, too_many_delegations; attachment_gone, quota_exceeded; workspace_not_found,
  // workspace_removed.
  virtual Commit<Result<OpenedDelegation>> open_delegation(const NewDelegation& wanted, Time now) = 0;
  virtual Commit<Result<Claimed<OpenedDelegation>>> open_delegation_once(const NewDelegation& wanted,
                                                                         const Claim& claim,
                                                                         Render<OpenedDelegation> render, Time now) = 0;
  // One step, made by the receiving agent, by the caller (if it recorded the task, or to cancel it) or by the server. A
  // step that ends the task appends a row to the caller's inbox in the same transaction, after the files of the report.
  // A late answer is kept and appended in the same way, once. delegation_not_found when absent, or when `who` is not
  // the actor's workspace (`who` is ignored for the server); attachment_gone, quota_exceeded.
  virtual Commit<Result<DelegationChange>> advance_delegation(WorkspaceId who, const std::string& id,
                                                              DelegationReport report, Time now) = 0;
  // A heartbeat of the receiving agent. delegation_not_found.
  virtual Commit<Result<DelegationChange>> beat_delegation(WorkspaceId callee, const std::string& id,
                                                           std::optional<std::string> progress, Time now) = 0;
  // Appends a task whose callback could not take it to the inbox of the receiving agent, if it is queued and not there.
  virtual Commit<Result<DelegationChange>> deliver_delegation(const std::string& id, Time now) = 0;
  // Tasks of these receiving agents whose inbox rows have been acked go from queued to dispatched.
  virtual Commit<Result<std::vector<DelegationChange>>> pick_up_delegations(std::vector<WorkspaceId> callees,
                                                                            Time now) = 0;
  // One bounded step. A task past its deadline becomes failed. A task that was picked up and has no heartbeat since
  // `silent_since` becomes stuck; if it never had one, only when the receiving agent has shown no sign of life since
  // then either. A task for a callback that was created before `undelivered_since` and is in no inbox is appended to
  // the inbox. At most `limit` together.
  virtual Commit<Result<SweptDelegations>> sweep_delegations(Time silent_since, Time undelivered_since, int limit,
                                                             Time now) = 0;
  // Of any workspace. delegation_not_found.
  virtual Result<Delegation> find_delegation(const std::string& id) = 0;
  virtual Result<DelegationRecord> read_delegation(const std::string& id) = 0;
  // Newest first. Of all workspaces: running tasks by their deadline, ended ones by their end, latest first.
  virtual std::vector<Delegation> list_delegations(const DelegationFilter& filter) = 0;
  // Reads stored counts, does not count rows.
  virtual DelegationStats delegation_stats() = 0;
  // For each of `of`, in the same order, what it waits for if it has not ended. Needs one query for each receiving
  // agent, not for each task.
  virtual std::vector<DelegationWait> delegation_waits(std::span<const Delegation> of) = 0;
};

}  // namespace restante
