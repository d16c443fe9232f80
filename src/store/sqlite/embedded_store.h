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

  Commit<Result<void>> record_polls(std::span<const PollRecord> polls) override;

  Commit<Result<void>> record_token_uses(std::span<const std::pair<TokenId, Time>> uses) override;

  Commit<Result<Appended>> append_to_inbox(WorkspaceId workspace, const NewInboxRow& row, Time now,
                                           OptionalClaim<Appended> claim) override;
  Commit<Result<std::int64_t>> ack_inbox(WorkspaceId workspace, std::int64_t seq) override;
  Result<InboxHead> find_head(WorkspaceId workspace) override;
  Commit<Result<std::int64_t>> prune(Time before, Time ceiling, Time now, int limit) override;
  Result<std::vector<InboxRow>> read_inbox(WorkspaceId workspace, const InboxQuery& query) override;

  bool uploads_ready() const override { return uploads_ready_; }
  Commit<Result<void>> forget_dropped_blobs(std::vector<std::string> keys) override;
  std::vector<std::string> known_blobs(std::span<const std::string> keys) override;
  Commit<Result<std::int64_t>> change_blob_keys(std::vector<BlobChange> changes, Time now) override;
  Chunks& chunks() override { return chunks_; }

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
  std::vector<DelegationWait> delegation_waits(std::span<const Delegation> of) override;

 private:
  std::string list_blobs_sql(const std::string& key, const std::string& where) override;
  std::string count_blobs_sql(const std::string& key) override;
  std::optional<Token> cached_token(const Digest& hash, const ReadToken& read_token) override {
    return token_cache_.find(hash, read_token);
  }
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
