// SharedStore is Store on PostgreSQL. Verbs are in the file of their noun. Each prepares what it can on the caller's
// thread and submits the rest to the write lane of its workspace. Work on many workspaces at once has a separate
// maintenance lane, so that no inbox waits for it. Thread-safe, as Store promises.
#pragma once
#include <memory>
#include <vector>

#include "store/postgres/blobs/chunks.h"
#include "store/postgres/cache/notification_reader.h"
#include "store/postgres/cache/read_cache.h"
#include "store/postgres/connections/session_pool.h"
#include "store/postgres/lanes/write_lane.h"
#include "store/postgres/store.h"
#include "store/sql/store.h"

namespace restante::postgres {

class SharedStore final : public SqlStore {
 public:
  SharedStore(const ConnectionOptions& endpoint, const Options& options);

  void check() override;
  StoreFacts describe() override;
  std::vector<WriterProgress> writers() override;

  Result<DeliveryMode> find_delivery(WorkspaceId id) override;
  Commit<Result<void>> record_polls(std::span<const PollRecord> polls) override;

  Commit<Result<void>> record_token_uses(std::span<const std::pair<TokenId, Time>> uses) override;

  Result<std::vector<InboxRow>> read_inbox(WorkspaceId workspace, const InboxQuery& query) override;
  Result<InboxStep> search_inbox(WorkspaceId workspace, const InboxQuery& query, int most) override;

  bool uploads_ready() const override { return uploads_ready_; }
  Commit<Result<void>> forget_dropped_blobs(std::vector<std::string> keys) override;
  std::vector<std::string> known_blobs(std::span<const std::string> keys) override;
  Commit<Result<std::int64_t>> change_blob_keys(std::vector<BlobChange> changes, Time now) override;
  Chunks& chunks() override { return chunks_; }

 private:
  std::string list_blobs_sql(const std::string& key, const std::string& where) override;
  std::string count_blobs_sql(const std::string& key) override;
  std::optional<Token> cached_token(const Digest& hash, const ReadToken& read_token) override {
    return read_cache_.find_token(hash, read_token);
  }
  void read_with(const std::function<void(SqlReader&)>& body) override { pool_.use(body); }
  WriteQueue& queue_for(WriteHints& hints) override {
    return (hints.lane ? lane_of(WorkspaceId(*hints.lane)) : maintenance_lane_).queue();
  }

  template <class AnyId>
  WriteLane& lane_of(const AnyId& id) {
    return *lanes_[std::hash<AnyId>()(id) % lanes_.size()];
  }

  const Uuid instance_;
  // Read once: tables are only created while no server runs.
  const bool uploads_ready_;
  ReadCache read_cache_;
  Primary primary_;
  // For lanes and the notification reader: when sessions are scarce, the pool closes one for them.
  ConnectionOptions prefer_writers(ConnectionOptions endpoint);

  SessionPool pool_;
  NotificationReader notification_reader_;
  std::vector<std::unique_ptr<WriteLane>> lanes_;
  WriteLane maintenance_lane_;
  SharedChunks chunks_;
};

}  // namespace restante::postgres
