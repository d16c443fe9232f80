// EmbeddedStore: Store on SQLite. Each verb is in the file of its noun (uploads.cpp, inbox.cpp, ...). It computes what
// it can on the caller's thread and submits the rest to the writer. Thread-safe, as Store promises.
#pragma once
#include <filesystem>

#include "store/sql/store.h"
#include "store/sqlite/blobs/chunks.h"
#include "store/sqlite/database/readers.h"
#include "store/sqlite/database/writer.h"
#include "store/sqlite/schema/data_lock.h"
#include "store/sqlite/store.h"
#include "store/token_cache.h"

namespace restante::sqlite {

class EmbeddedStore final : public SqlStore {
 public:
  EmbeddedStore(const std::filesystem::path& file, const Options& options);

  void check() override;
  StoreFacts describe() override;

  Commit<Result<Workspace>> create_workspace(const NewWorkspace& workspace, Time now,
                                             OptionalClaim<Workspace> claim) override;
  Result<Workspace> find_workspace(WorkspaceId id) override;
  Result<DeliveryMode> find_delivery(WorkspaceId id) override;
  std::vector<Workspace> list_workspaces() override;
  Commit<Result<RegisteredWorkspace>> register_agent(const CheckedRegistration& registration, Time now) override;
  Commit<Result<void>> record_heartbeat(WorkspaceId id, const Heartbeat& heartbeat, Time now) override;
  Commit<Result<Workspace>> patch_workspace(WorkspaceId id, const WorkspacePatch& patch, Time now) override;
  Commit<Result<std::vector<TokenId>>> remove_workspace(WorkspaceId id, Time now) override;
  Commit<Result<std::vector<StatusChange>>> set_unseen_agents_offline(Time unseen_since, Time now) override;
  std::vector<WorkspaceId> ancestors(WorkspaceId id) override;
  std::string find_inbound_secret(WorkspaceId id) override;
  Commit<Result<void>> set_inbound_secret(WorkspaceId id, std::string sealed, Time now) override;
  Commit<Result<void>> record_polls(std::span<const PollRecord> polls) override;

  Commit<Result<Token>> add_token(const NewToken& token, Time now) override;
  std::optional<Token> find_token(const Digest& hash) override;
  std::optional<Token> find_token(TokenId id) override;
  std::vector<Token> list_tokens(std::optional<WorkspaceId> workspace) override;
  Commit<Result<bool>> revoke_token(TokenId id, Time now) override;
  Commit<Result<bool>> revoke_workspace_token(WorkspaceId workspace, TokenId id, Time now) override;
  Commit<Result<void>> record_token_uses(std::span<const std::pair<TokenId, Time>> uses) override;
  bool has_live_token(WorkspaceId workspace, Time now) override;

  Commit<Result<SentMessage>> append_to_inbox_with_files(WorkspaceId workspace, const NewInboxRow& row,
                                                         std::vector<OutgoingFile> files, const StagingTerms& terms,
                                                         Time now, OptionalClaim<SentMessage> claim) override;

  bool uploads_ready() const override { return uploads_ready_; }
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
  AllUploadStats upload_stats(Time now) override;
  Commit<Result<void>> mark_fetched(WorkspaceId workspace, FileId id, Time now) override;
  Commit<Result<UploadChange>> ack_upload(WorkspaceId workspace, FileId id, Time now) override;
  Commit<Result<UploadChange>> fail_upload(WorkspaceId workspace, FileId id, std::string reason, Time now) override;
  Commit<Result<std::vector<UploadChange>>> mark_damaged(WorkspaceId workspace, FileId id, UploadDamage damage,
                                                         Time now) override;
  Commit<Result<UploadChange>> recall_upload(WorkspaceId workspace, FileId id, std::optional<TokenId> recalled_by,
                                             Time now) override;
  Commit<Result<SweptUploads>> sweep_uploads(std::chrono::seconds ack_retention, int limit, Time now) override;
  std::vector<std::string> list_dropped_blobs(int limit, Time remote_before, const std::string& after) override;
  Commit<Result<void>> forget_dropped_blobs(std::vector<std::string> keys) override;
  std::vector<std::string> known_blobs(std::span<const std::string> keys) override;
  std::optional<BlobMove> find_blob_move() override;
  Commit<Result<BegunBlobMove>> begin_blob_move(Place from, Place to, std::int64_t rate, Time now) override;
  Commit<Result<bool>> advance_blob_move(const BlobMove& was, BlobPhase phase, Time now) override;
  Commit<Result<bool>> take_blob_move_lease(WorkerId worker, Time until, Time now) override;
  std::vector<MovingBlob> list_blobs(KeyRole role, Place place, const std::string& after, int limit) override;
  Commit<Result<std::int64_t>> change_blob_keys(std::vector<BlobChange> changes, Time now) override;
  std::vector<PlaceFigures> count_blobs() override;
  Chunks& chunks() override { return chunks_; }

 private:
  void read_with(const std::function<void(SqlReader&)>& body) override { body(*readers_.take()); }
  // There is one writer, so nothing is locked, and verbs that want to be alone share a COMMIT with others.
  WriteQueue& queue_for(WriteHints& hints) override {
    hints = {};
    return writer_.queue();
  }

  // Destroyed from the bottom: the writer commits what it accepted before the connections close and the lock is
  // released.
  DataLock lock_;
  Health health_;
  std::unique_ptr<Database> opened_;
  // Tables are created only while no server runs, so one check is enough.
  const bool uploads_ready_;
  Readers readers_;
  TokenCache token_cache_;
  bool tokens_changed_ = false;  // used by the writer's thread only
  Writer writer_;
  EmbeddedChunks chunks_{readers_, writer_};
};

}  // namespace restante::sqlite
