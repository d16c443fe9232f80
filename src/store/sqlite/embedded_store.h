// EmbeddedStore: Store on SQLite. Each verb is in the file of its noun (uploads.cpp, inbox.cpp, ...). It computes what
// it can on the caller's thread and submits the rest to the writer. Thread-safe, as Store promises.
#pragma once
#include <filesystem>
#include <optional>

#include "store/sql/store.h"
#include "store/sqlite/blobs/chunks.h"
#include "store/sqlite/database/readers.h"
#include "store/sqlite/database/soundness_check.h"
#include "store/sqlite/database/writer.h"
#include "store/sqlite/schema/opening.h"
#include "store/sqlite/store.h"
#include "store/token_cache.h"

namespace restante::sqlite {

class EmbeddedStore final : public SqlStore {
 public:
  EmbeddedStore(const std::filesystem::path& file, const Options& options);

  void check() override;
  StoreFacts describe() override;
  std::vector<WriterProgress> writers() override { return {writer_.queue().progress()}; }

  Commit<Result<void>> record_polls(std::span<const PollRecord> polls) override;

  Commit<Result<void>> record_token_uses(std::span<const std::pair<TokenId, Time>> uses) override;

  bool uploads_ready() const override { return uploads_ready_; }
  Commit<Result<void>> forget_dropped_blobs(std::vector<std::string> keys) override;
  std::vector<std::string> known_blobs(std::span<const std::string> keys) override;
  Commit<Result<std::int64_t>> change_blob_keys(std::vector<BlobChange> changes, Time now) override;
  Chunks& chunks() override { return chunks_; }

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
  std::optional<SoundnessCheck> soundness_check_;
};

}  // namespace restante::sqlite
