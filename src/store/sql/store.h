// SqlStore: the verbs that SQLite and PostgreSQL share, each in the file of its noun beside this header. A verb
// computes what it can on the caller's thread and submits the rest to the backend's writer. Plain classes and not
// templates: a verb is compiled once, and a statement takes far longer than the virtual call that runs it. A verb that
// would need another text in each database, or more round trips in PostgreSQL, stays in the backend. Thread-safe, as
// Store promises.
#pragma once
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "store/commit_queue.h"
#include "store/sql/transaction.h"
#include "store/store.h"

namespace restante {

class SqlStore : public Store {
 public:
  Result<std::optional<std::string>> find_answer(const Claim& claim, Time now) override;

  // workspaces
  Commit<Result<Workspace>> create_workspace(const NewWorkspace& workspace, Time now,
                                             OptionalClaim<Workspace> claim) override;
  Result<Workspace> find_workspace(WorkspaceId id) override;
  Result<DeliveryMode> find_delivery(WorkspaceId id) override;
  std::vector<Workspace> list_workspaces(const WorkspacePage& page) override;
  std::vector<Workspace> list_relatives(WorkspaceId id, bool roots, const WorkspacePage& page) override;
  Commit<Result<RegisteredWorkspace>> register_agent(const CheckedRegistration& registration, Time now) override;
  Commit<Result<void>> record_heartbeat(WorkspaceId id, const Heartbeat& heartbeat, Time now) override;
  Commit<Result<Workspace>> patch_workspace(WorkspaceId id, const WorkspacePatch& patch, Time now) override;
  Commit<Result<std::vector<TokenId>>> remove_workspace(WorkspaceId id, Time now) override;
  Commit<Result<std::vector<StatusChange>>> set_unseen_agents_offline(Time unseen_since, Time now) override;
  std::vector<WorkspaceId> ancestors(WorkspaceId id) override;
  std::string find_inbound_secret(WorkspaceId id) override;
  Commit<Result<std::string>> ensure_inbound_secret(WorkspaceId id, NewInboundSecret secret, Time now) override;
  Commit<Result<void>> set_inbound_secret(WorkspaceId id, std::string sealed, Time now) override;
  bool is_reported_silent(WorkspaceId id) override;
  std::int64_t count_silent_agents() override;
  std::vector<QuietAgent> list_quiet_agents(Time polled_before) override;
  Commit<Result<std::vector<WorkspaceId>>> record_silences(std::vector<QuietAgent> agents, Time now) override;

  // tokens
  Commit<Result<Token>> add_token(const NewToken& token, Time now) override;
  Commit<Result<OpenedSession>> open_session(const NewToken& session, Time now) override;
  std::optional<Token> find_token(const Digest& hash) override;
  std::optional<Token> find_token(TokenId id) override;
  std::vector<Token> list_tokens(std::optional<WorkspaceId> workspace) override;
  Commit<Result<bool>> revoke_token(TokenId id, Time now) override;
  Commit<Result<bool>> revoke_workspace_token(WorkspaceId workspace, TokenId id, Time now) override;
  bool has_live_token(WorkspaceId workspace, Time now) override;

  // inbox
  Commit<Result<Appended>> append_to_inbox(WorkspaceId workspace, const NewInboxRow& row, Time now,
                                           OptionalClaim<Appended> claim) override;
  Commit<Result<std::int64_t>> ack_inbox(WorkspaceId workspace, std::int64_t seq) override;
  Result<InboxHead> find_head(WorkspaceId workspace) override;
  Commit<Result<Pruned>> prune(Time before, Time ceiling, Time now, int limit,
                               std::optional<WorkspaceId> after) override;
  Commit<Result<Epoch>> begin_epoch(Time now) override;
  Result<std::vector<InboxRow>> read_inbox(WorkspaceId workspace, const InboxQuery& query) override;
  Result<InboxStep> search_inbox(WorkspaceId workspace, const InboxQuery& query, int most) override;
  std::vector<FileId> find_named_files(WorkspaceId workspace, NamedBy by, const std::vector<FileId>& files) override;

  // uploads
  Commit<Result<SentMessage>> append_to_inbox_with_files(WorkspaceId workspace, const NewInboxRow& row,
                                                         std::vector<OutgoingFile> files, const StagingTerms& terms,
                                                         Time now, OptionalClaim<SentMessage> claim) override;
  Commit<Result<std::vector<StagedUpload>>> stage_uploads(WorkspaceId workspace, std::vector<NewUpload> items,
                                                          const StagingTerms& terms, Time now,
                                                          OptionalClaim<std::vector<StagedUpload>> claim) override;
  Result<Upload> find_upload(WorkspaceId workspace, FileId id) override;
  Result<Upload> read_upload(WorkspaceId workspace, FileId id) override;
  Result<UploadStatus> find_upload_status(WorkspaceId workspace, FileId id, Time now) override;
  std::optional<Upload> find_outgoing(WorkspaceId workspace, const Digest& sha256, Time now) override;
  std::vector<Upload> list_waiting(WorkspaceId workspace, std::optional<FileId> after, int limit, Time now) override;
  std::vector<Upload> list_uploads(const UploadFilter& filter, Time now) override;
  std::vector<Upload> walk_uploads(std::optional<FileId> after, int limit) override;
  AllUploadStats upload_stats(Time now, const UploadStatsPage& page) override;
  Commit<Result<void>> mark_fetched(WorkspaceId workspace, FileId id, Time now) override;
  Commit<Result<UploadChange>> ack_upload(WorkspaceId workspace, FileId id, Moment at) override;
  Commit<Result<UploadChange>> fail_upload(WorkspaceId workspace, FileId id, std::string reason, Moment at) override;
  Commit<Result<std::vector<UploadChange>>> mark_damaged(WorkspaceId workspace, FileId id, UploadDamage damage,
                                                         Time now) override;
  Commit<Result<UploadChange>> recall_upload(WorkspaceId workspace, FileId id, std::optional<TokenId> recalled_by,
                                             Moment at) override;
  Commit<Result<SweptUploads>> sweep_uploads(std::chrono::seconds ack_retention, int limit, Time now) override;
  std::vector<std::string> list_dropped_blobs(int limit, Time remote_before, const std::string& after) override;

  // orphan candidates
  std::vector<OrphanCandidate> list_orphan_candidates() override;
  Commit<Result<void>> change_orphan_candidates(std::vector<OrphanCandidate> found,
                                                std::vector<std::string> gone) override;

  // blob moves
  std::optional<BlobMove> find_blob_move() override;
  Commit<Result<BegunBlobMove>> begin_blob_move(Place from, Place to, std::int64_t rate, Time now) override;
  Commit<Result<bool>> advance_blob_move(const BlobMove& was, BlobPhase phase, Time now) override;
  Commit<Result<bool>> take_blob_move_lease(WorkerId worker, Time until, Time now) override;
  std::vector<MovingBlob> list_blobs(KeyRole role, Place place, const std::string& after, int limit) override;
  std::vector<PlaceFigures> count_blobs() override;

  // owners
  std::optional<Installation> find_installation() override;
  Commit<Result<Installation>> ensure_installation(InstallationId fresh, Place setting) override;
  Commit<Result<bool>> record_mark(Place place, const std::optional<OwnerMark>& was, const OwnerMark& is) override;
  Commit<Result<void>> reset_installation() override;

  // the server's clock
  std::optional<Time> find_clock() override;
  Commit<Result<void>> record_clock(Time trusted) override;

  // blob checks
  std::optional<BlobCheckRow> find_blob_check() override;
  Commit<Result<BlobCheckRow>> begin_blob_check(const NewBlobCheck& wanted, Time now) override;
  Commit<Result<bool>> update_blob_check(BlobCheckUpdate update) override;

  // delegations
  Commit<Result<OpenedDelegation>> open_delegation(const NewDelegation& wanted, Time now,
                                                   OptionalClaim<OpenedDelegation> claim) override;
  Commit<Result<DelegationChange>> advance_delegation(WorkspaceId who, const std::string& id, DelegationReport report,
                                                      Time now) override;
  Commit<Result<DelegationChange>> beat_delegation(WorkspaceId callee, const std::string& id,
                                                   std::optional<std::string> progress, Time now) override;
  Commit<Result<DelegationChange>> deliver_delegation(const std::string& id, Time now) override;
  Commit<Result<std::vector<DelegationChange>>> pick_up_delegations(std::vector<WorkspaceId> callees,
                                                                    Time now) override;
  Commit<Result<SweptDelegations>> sweep_delegations(Time silent_since, Time undelivered_since, int limit,
                                                     Time now) override;
  Result<Delegation> find_delegation(const std::string& id) override;
  Result<DelegationRecord> read_delegation(const std::string& id) override;
  std::vector<Delegation> list_delegations(const DelegationFilter& filter) override;
  DelegationStats delegation_stats() override;
  std::vector<WorkspaceId> callees_with_acked_tasks() override;
  std::vector<DelegationWait> delegation_waits(std::span<const Delegation> of) override;

 protected:
  using WriteQueue = CommitQueue<SqlTransaction, WriteHints>;
  using ReadToken = std::function<std::optional<Token>()>;

  // Returns what `body(SqlReader&)` returns. PostgreSQL may run it twice.
  template <class Body>
  auto read(Body body) {
    std::optional<std::invoke_result_t<Body&, SqlReader&>> found;
    read_with([&](SqlReader& reader) { found.emplace(body(reader)); });
    return std::move(*found);
  }
  // `verb(SqlTransaction&)` runs inside a transaction on the writer's thread, perhaps several times, and returns a
  // Result. `bytes` is roughly the memory that it holds.
  template <class Verb>
  auto write(WriteHints hints, std::size_t bytes, Verb verb) {
    WriteQueue& queue = queue_for(hints);
    return queue.submit(std::move(hints), bytes, std::move(verb));
  }

 private:
  virtual void read_with(const std::function<void(SqlReader&)>& body) = 0;
  // May change the hints.
  virtual WriteQueue& queue_for(WriteHints& hints) = 0;
  // The token from the cache, or what `read_token` reads.
  virtual std::optional<Token> cached_token(const Digest& hash, const ReadToken& read_token) = 0;

  // One row for each blob in a range of keys, of which rows may share one. `key` is the column, `where` a further
  // condition. list_blobs_sql(): the columns of a MovingBlob; parameters: the range, the key to begin after, the limit.
  // count_blobs_sql(): blobs and bytes, and of those the damaged ones; parameters: the range.
  virtual std::string list_blobs_sql(const std::string& key, const std::string& where) = 0;
  virtual std::string count_blobs_sql(const std::string& key) = 0;
};

// Parts of verbs, inside a transaction, for verbs that also do something else. Each belongs to the thread of its
// transaction.

// tokens.cpp. too_many_tokens; invalid_token when the token that opens it (opened_by) is not live.
Result<Token> add_token(SqlTransaction& transaction, const NewToken& token, Time now);
bool has_live_token(SqlReader& reader, WorkspaceId workspace, Time now);
// Revokes the enrolment and adds the token. invalid_token when the enrolment is not live or is for another workspace.
Result<Token> redeem_enrolment(SqlTransaction& transaction, TokenId enrolment, const NewToken& token, Time now);
// Deletes at most `limit` tokens that ended before that time. Returns how many.
std::int64_t prune_tokens(SqlTransaction& transaction, Time ended_before, std::int64_t limit);

// message_files.cpp: files that come with a message or a task, which are outgoing files of one workspace, staged for
// another before the row that names them. Stages each file under its new id, with an inbox row, sharing the blob; or
// nothing at all. The heads of both workspaces are locked. attachment_gone, quota_exceeded.
Result<std::vector<StagedUpload>> stage_copies(SqlTransaction& transaction, WorkspaceId workspace,
                                               const std::vector<OutgoingFile>& files, StagingTerms terms, Time at,
                                               Time now);

}  // namespace restante
