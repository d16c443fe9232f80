// Store: the durable state of the platform. This header is the contract; backends add no promises.
//
// One method is one transaction. No transaction handle crosses this line: a rule that spans two tables (an upload row
// and its inbox row) is a single verb here, so it cannot be half done. Time is an argument; tests own the clock.
// Thread-safe. Reads block; writes return a Commit<T>, true once its group is durable: take it in a test, await it at
// the edge. Throws Unavailable (reads at once, writes through the Commit) when the backend cannot be reached.
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

// A position in one workspace's log: what was appended, for the bell and the answer.
struct Appended {
  InboxRowId id;
  std::int64_t seq = 0;
  bool repeated = false;  // the same message was there already: nothing was appended, nothing is news
};

struct InboxHead {
  std::int64_t last_seq = 0;
  std::int64_t acked_seq = 0;
  Time last_created_at;
};

struct StagedUpload {
  Upload upload;
  Appended activity;  // none, seq 0, of an outgoing one
};

// A file as it stands, and what was written to the log about it; nothing where nothing changed.
struct UploadChange {
  Upload upload;
  std::optional<Appended> receipt;
};

struct SweptUploads {
  std::int64_t acked = 0;
  std::vector<UploadChange> expired;  // outgoing ones have no receipt
  bool more = false;                  // the limit was reached: there may be more that is due
};

// A message and the files that came with it. Of a repeated message only where it is: its files came the first time.
struct SentMessage {
  Appended activity;
  std::vector<StagedUpload> files;
};

// A row that was written to somebody's log.
struct AppendedRow {
  WorkspaceId workspace;
  Appended at;
};

// A delegation that was given, or was there already: then nothing was done.
struct OpenedDelegation {
  Delegation delegation;
  bool hit = false;
  std::vector<AppendedRow> rows;
  std::vector<StagedUpload> files;
};

// A delegation as it stands after a word about it, and what was written.
struct DelegationChange {
  DelegationOutcome outcome = DelegationOutcome::repeated;
  Delegation delegation;
  std::vector<AppendedRow> rows;
  std::vector<StagedUpload> files;
};

struct SweptDelegations {
  std::vector<DelegationChange> changes;
  bool more = false;  // the limit was reached: there may be more that is due
};

// What keeps the rows, for the operator.
struct StoreFacts {
  std::string engine;         // "SQLite", "PostgreSQL"
  std::string version;        // of the engine, as it calls itself
  int schema = 0;             // the newest migration that is applied
  std::string schema_name{};  // what it is called
};

class Store {
 public:
  virtual ~Store() = default;

  // Asks the backend a question only a living one answers. Throws Unavailable.
  virtual void check() = 0;
  virtual StoreFacts describe() = 0;

  // --- claims
  // What was answered under this claim; nothing when it is unused or has expired. idempotency_mismatch.
  virtual Result<std::optional<std::string>> find_answer(const Claim& claim, Time now) = 0;

  // --- workspaces
  // With its enrolment, if it is to have one. workspace_exists when the chosen id is taken.
  virtual Commit<Result<Workspace>> create_workspace(const NewWorkspace& workspace, Time now) = 0;
  // The same under a claim: idempotency_mismatch when the claim's scope was used for another request.
  virtual Commit<Result<Claimed<Workspace>>> create_workspace_once(const NewWorkspace& workspace, const Claim& claim,
                                                                   Render<Workspace> render, Time now) = 0;
  // workspace_not_found; a removed one is found, with that status.
  virtual Result<Workspace> find_workspace(WorkspaceId id) = 0;
  // How a living one is reached: what is asked before every poll and upload. workspace_not_found, workspace_removed.
  virtual Result<DeliveryMode> find_delivery(WorkspaceId id) = 0;
  // Without the removed ones, oldest first.
  virtual std::vector<Workspace> list_workspaces() = 0;
  // The agent said what it is: it counts as seen, and has its token, all or nothing. workspace_not_found,
  // workspace_removed; invalid_token when the enrolment is not live or bound elsewhere, or when it is too late to be
  // the first; workspace_exists when an enrolment was to create it; too_many_tokens.
  virtual Commit<Result<RegisteredWorkspace>> register_agent(const CheckedRegistration& entry, Time now) = 0;
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
  // Signs of life by polling, gathered in memory and written together. Polls and acks only ever move forward; an acked
  // row that is not the workspace's counts for nothing, and no ack goes beyond the head.
  virtual Commit<Result<void>> record_polls(std::span<const PollRecord> polls) = 0;

  // --- tokens
  // too_many_tokens beyond 50 live ones of a workspace; invalid_token when the one it is opened by does not live.
  virtual Commit<Result<Token>> add_token(const NewToken& token, Time now) = 0;
  // Whatever its state: the caller asks live(). None when no token has this hash.
  virtual std::optional<Token> find_token(const Digest& hash) = 0;
  virtual std::optional<Token> find_token(TokenId id) = 0;
  // Newest first; for one workspace, or those of no workspace.
  virtual std::vector<Token> list_tokens(std::optional<WorkspaceId> workspace) = 0;
  // With the sessions it opened. True when it was live until now.
  virtual Commit<Result<bool>> revoke_token(TokenId id, Time now) = 0;
  // The same for a token of this workspace only; anybody else's is as good as absent.
  virtual Commit<Result<bool>> revoke_workspace_token(WorkspaceId workspace, TokenId id, Time now) = 0;
  // last_used_at, gathered in memory and written together.
  virtual Commit<Result<void>> record_token_uses(std::span<const std::pair<TokenId, Time>> uses) = 0;
  virtual bool has_live_token(WorkspaceId workspace, Time now) = 0;

  // --- inbox
  // Appends one row to the workspace's log. seq grows by commit order within a workspace and created_at never goes back
  // along it. workspace_not_found, workspace_removed.
  virtual Commit<Result<Appended>> append_to_inbox(WorkspaceId workspace, const NewInboxRow& activity, Time now) = 0;
  virtual Commit<Result<Claimed<Appended>>> append_to_inbox_once(WorkspaceId workspace, const NewInboxRow& activity,
                                                                 const Claim& claim, Render<Appended> render,
                                                                 Time now) = 0;
  // The same with files: each must be an outgoing file of its owner that lives and is sound (attachment_gone), and is
  // staged for `workspace` under its new id with an inbox row of its own before the message, sharing the bytes. The
  // body already names the new ids; for telling a repeated message it is read with the sources in their place. The
  // terms' direction is not looked at. quota_exceeded.
  virtual Commit<Result<SentMessage>> append_to_inbox_with_files(WorkspaceId workspace, const NewInboxRow& activity,
                                                                 std::vector<OutgoingFile> files,
                                                                 const StagingTerms& terms, Time now) = 0;
  virtual Commit<Result<Claimed<SentMessage>>> append_to_inbox_with_files_once(
      WorkspaceId workspace, const NewInboxRow& activity, std::vector<OutgoingFile> files, const StagingTerms& terms,
      const Claim& claim, Render<SentMessage> render, Time now) = 0;
  // What has been consumed: only ever forward, never beyond the head. Gives what stands. workspace_not_found.
  virtual Commit<Result<std::int64_t>> ack_inbox(WorkspaceId workspace, std::int64_t seq) = 0;
  virtual Result<InboxHead> find_head(WorkspaceId workspace) = 0;
  // One bounded step of retention: of one workspace at a time, rows older than `before`, except a2a_receive rows that
  // were not acked and are younger than `ceiling`; with their message keys, and claims past their expiry; and the
  // stories of uploads that left before `before`, and delegations that ended before it. Gives how many rows went; fewer
  // than `limit` means that nothing is left to do.
  virtual Commit<Result<std::int64_t>> prune(Time before, Time ceiling, Time now, int limit) = 0;
  // cursor_gone when the cursor names no row of this workspace or lies above the head (since_seq = 0 always works).
  virtual Result<std::vector<InboxRow>> read_inbox(WorkspaceId workspace, const InboxQuery& query) = 0;

  // --- uploads
  // Where the tables of uploads were not made yet (migrate = false), the store works for everything else and answers
  // here as if nothing had ever been staged: staging is no_callback, a file upload_gone or attachment_gone, lists are
  // empty.
  virtual bool uploads_ready() const = 0;
  // Records every item, and one inbox row each unless it is outgoing, in order, or nothing at all. The bytes are
  // already in Places or in the item: a row is a promise that its content can be read. Nothing is done for an empty
  // list. quota_exceeded, by what lies there in both directions and was not acked; workspace_not_found,
  // workspace_removed.
  virtual Commit<Result<std::vector<StagedUpload>>> stage_uploads(WorkspaceId workspace, std::vector<NewUpload> items,
                                                                  const StagingTerms& terms, Time now) = 0;
  virtual Commit<Result<Claimed<std::vector<StagedUpload>>>> stage_uploads_once(
      WorkspaceId workspace, std::vector<NewUpload> items, const StagingTerms& terms, const Claim& claim,
      Render<std::vector<StagedUpload>> render, Time now) = 0;
  // upload_gone when absent or staged for another workspace. Acked and expired ones are found, and outgoing ones: the
  // caller decides who may still see them. Without the bytes.
  virtual Result<Upload> find_upload(WorkspaceId workspace, FileId id) = 0;
  // The same with `content`, where the row keeps it.
  virtual Result<Upload> read_upload(WorkspaceId workspace, FileId id) = 0;
  // The state also of what has left, as long as the log is kept. upload_gone.
  virtual Result<UploadStatus> find_upload_status(WorkspaceId workspace, FileId id, Time now) = 0;
  // A file from this workspace with these bytes that lives and is sound; of several the one that stays longest.
  virtual std::optional<Upload> find_outgoing(WorkspaceId workspace, const Digest& sha256, Time now) = 0;
  // For the agent, unacked and unexpired, oldest first, after `after` when given.
  virtual std::vector<Upload> list_waiting(WorkspaceId workspace, std::optional<FileId> after, int limit, Time now) = 0;
  // One group, the first to expire first; of the acked the first acked.
  virtual std::vector<Upload> list_uploads(const UploadFilter& filter, Time now) = 0;
  // Every row whatever its state, by id, for going through all of them: `after` need not be there any more.
  virtual std::vector<Upload> walk_uploads(std::optional<FileId> after, int limit) = 0;
  // Exact figures of one moment, without counting rows: only what is overdue for the sweep, and what is damaged, is
  // looked at.
  virtual PlatformUploadStats upload_stats(Time now) = 0;
  // fetched_at moves to `now` unless the row is acked or outgoing.
  virtual Commit<Result<void>> mark_fetched(WorkspaceId workspace, FileId id, Time now) = 0;
  // The first ack sets acked_at and appends the receipt; a repeated one changes nothing. upload_gone past expires_at,
  // when absent, outgoing, or of another workspace.
  virtual Commit<Result<UploadChange>> ack_upload(WorkspaceId workspace, FileId id, Time now) = 0;
  // The agent could not take it: failed_at, the reason (cut to kMaxReasonBytes) and a receipt. It stays until its time,
  // and a later ack wins. The same reason again or none changes nothing, and neither does any of a damaged one.
  // upload_gone as for an ack, and when acked.
  virtual Commit<Result<UploadChange>> fail_upload(WorkspaceId workspace, FileId id, std::string reason, Time now) = 0;
  // The bytes are not those that were staged: its row and all rows that share them are marked, for as long as they
  // stay. Those that an agent still waits for become failed, with sentence_of() as the reason and a receipt. Gives them
  // by id; none where it was known. upload_gone when absent or of another workspace.
  virtual Commit<Result<std::vector<UploadChange>>> mark_damaged(WorkspaceId workspace, FileId id, UploadDamage damage,
                                                                 Time now) = 0;
  // Its row leaves, with a receipt unless it is outgoing. `recalled_by` must be who staged it, none may recall any.
  // upload_already_acked; upload_gone when absent, expired, of another workspace or another sender.
  virtual Commit<Result<UploadChange>> recall_upload(WorkspaceId workspace, FileId id,
                                                     std::optional<TokenId> recalled_by, Time now) = 0;
  // One bounded step: acked rows older than the retention and unacked ones past expires_at leave, the longest due
  // first, at most `limit` together; expired ones with a receipt. Nothing due costs two probes of an index.
  virtual Commit<Result<SweptUploads>> sweep_uploads(std::chrono::seconds ack_retention, int limit, Time now) = 0;

  // --- bytes whose last row has left. Rows may share a blob; it is listed when none names it in either key, in the
  // same transaction.
  // By key, after `after`. Bare keys at once, since whoever reads a file keeps it open; those of other places when they
  // were dropped before `remote_before`.
  virtual std::vector<std::string> list_dropped_blobs(int limit, Time remote_before, const std::string& after) = 0;
  // Once they are gone from Places.
  virtual Commit<Result<void>> forget_dropped_blobs(std::vector<std::string> keys) = 0;
  // Those of `keys` that a row needs or that are listed as dropped, in their order: the rest are orphans, if old
  // enough.
  virtual std::vector<std::string> known_blobs(std::span<const std::string> keys) = 0;
  // Where bytes may be kept beside the rows. Where its tables were not made yet, it throws Unavailable.
  virtual Chunks& chunks() = 0;

  // --- bytes that move from one place to another
  // The change-over under way, or the last one.
  virtual std::optional<BlobMove> find_blob_move() = 0;
  // By the rule of begin_blob_move() in model/blob_move.h. blob_move_under_way.
  virtual Commit<Result<BegunBlobMove>> begin_blob_move(Place from, Place to, std::int64_t rate, Time now) = 0;
  // From the phase it was seen in to another one. False when it is not in it any more, or not that change-over.
  virtual Commit<Result<bool>> advance_blob_move(const BlobMove& was, BlobPhase phase, Time now) = 0;
  // Whether this worker is the one that copies, from now until then. False also where nothing was ever begun.
  virtual Commit<Result<bool>> hold_blob_move(WorkerId worker, Time until, Time now) = 0;
  // Bytes that rows need whose first key, or twin, is of this place, by that key, after `after`; of the first ones
  // without those that are damaged.
  virtual std::vector<MovingBlob> list_blobs(KeyRole role, Place place, const std::string& after, int limit) = 0;
  // All rows that have the keys a change names get the others; keys that no row names any more are listed as dropped.
  // Gives how many rows were changed: those that have left or changed meanwhile are not.
  virtual Commit<Result<std::int64_t>> place_blobs(std::vector<BlobChange> changes, Time now) = 0;
  // Of every place, in their order. Counts rows: for the operator, not for every second.
  virtual std::vector<PlaceFigures> count_blobs() = 0;

  // --- whose the bytes are that lie elsewhere. Where these tables were not made yet, everything here throws
  // Unavailable. None before a server has entered.
  virtual std::optional<Installation> find_installation() = 0;
  // A server starts with this setting: where there is no office yet it becomes `fresh`. Gives it as it was, with the
  // setting of the start before; of the first, its own.
  virtual Commit<Result<Installation>> ensure_installation(InstallationId fresh, Place setting) = 0;
  // The mark that a place is expected to carry from now on. False when it is not `was` any more.
  virtual Commit<Result<bool>> record_mark(Place place, const std::optional<OwnerMark>& was, const OwnerMark& is) = 0;
  // The next server that enters makes another office, which has marked nothing.
  virtual Commit<Result<void>> reset_installation() = 0;

  // --- checks of all bytes. Where their table was not made yet, there is none, and none can begin (Unavailable).
  // The one under way, or the last one, as its server last wrote it: whether that one lives, its lease tells.
  virtual std::optional<BlobCheckRow> find_blob_check() = 0;
  // By the rule of begin_blob_check() in model/blob_check.h. blob_check_running.
  virtual Commit<Result<BlobCheckRow>> begin_blob_check(const NewBlobCheck& wanted, Time now) = 0;
  // False when it is not that worker's any more, or has ended.
  virtual Commit<Result<bool>> update_blob_check(BlobCheckUpdate said) = 0;

  // --- delegations
  // Where their tables were not made yet (migrate = false), everything here throws Unavailable.
  virtual bool delegations_ready() const = 0;
  // The row, the task in the callee's inbox with its files before it (unless it is recorded or its callback is asked
  // first), and a note in the caller's log. The same caller's id, or a key it still holds, is a hit and changes
  // nothing. A file that was sent before may go along again as long as its bytes are here. bad_field for oneself;
  // delegation_id_taken; delegation_not_found for a parent that is not a task of the caller or a retried one it did not
  // give; delegation_ended for a parent that has, delegation_in_flight for a retried one that has not;
  // delegation_too_deep, delegation_cycle, too_many_delegations; attachment_gone, quota_exceeded; workspace_not_found,
  // workspace_removed.
  virtual Commit<Result<OpenedDelegation>> open_delegation(const NewDelegation& wanted, Time now) = 0;
  virtual Commit<Result<Claimed<OpenedDelegation>>> open_delegation_once(const NewDelegation& wanted,
                                                                         const Claim& claim,
                                                                         Render<OpenedDelegation> render, Time now) = 0;
  // One step, by who may make it: its callee, its caller where it recorded the task or takes it back, or the platform.
  // What ends it is told to the caller by a row of its inbox, in the same transaction, after the files that come with
  // it. A late answer is kept and told likewise, once. delegation_not_found when absent or none of the actor's business
  // (`who` is not looked at for the platform); attachment_gone, quota_exceeded.
  virtual Commit<Result<DelegationChange>> advance_delegation(WorkspaceId who, const std::string& id,
                                                              DelegationReport report, Time now) = 0;
  // By its callee. delegation_not_found.
  virtual Commit<Result<DelegationChange>> beat_delegation(WorkspaceId callee, const std::string& id,
                                                           std::optional<std::string> progress, Time now) = 0;
  // A task whose callback could not take it goes to the callee's inbox, if it is queued and nowhere yet.
  virtual Commit<Result<DelegationChange>> deliver_delegation(const std::string& id, Time now) = 0;
  // Of these callees, the tasks whose inbox rows have been acked: queued becomes dispatched.
  virtual Commit<Result<std::vector<DelegationChange>>> pick_up_delegations(std::vector<WorkspaceId> callees,
                                                                            Time now) = 0;
  // One bounded step: past the deadline becomes failed; picked up and without a heartbeat since `silent_since` becomes
  // stuck, where there never was one if the callee showed no sign of life since either; tasks that were to go to a
  // callback before `undelivered_since` and lie nowhere go to the inbox. At most `limit` together.
  virtual Commit<Result<SweptDelegations>> sweep_delegations(Time silent_since, Time undelivered_since, int limit,
                                                             Time now) = 0;
  // Whoever's it is. delegation_not_found.
  virtual Result<Delegation> find_delegation(const std::string& id) = 0;
  virtual Result<DelegationRecord> read_delegation(const std::string& id) = 0;
  // Newest first; of all workspaces, those under way by their deadline and those that ended by their end, latest first.
  virtual std::vector<Delegation> list_delegations(const DelegationFilter& filter) = 0;
  // Kept, not counted.
  virtual DelegationStats delegation_stats() = 0;
  // Of each of these, in their order, what it waits for if it has not ended. A list takes as many questions as it has
  // callees, not rows.
  virtual std::vector<DelegationWait> delegation_waits(std::span<const Delegation> of) = 0;
};

}  // namespace restante
