// EmbeddedChunks: Chunks on SQLite. Each chunk is one verb of the writer, grouped with other waiting verbs. Every
// COMMIT is durable here, since all writes share one log and one sync. Must not outlive the readers and the writer.
// Thread-safe.
#pragma once
#include "store/chunks.h"
#include "store/sqlite/database/readers.h"
#include "store/sqlite/database/writer.h"

namespace restante::sqlite {

class EmbeddedChunks final : public Chunks {
 public:
  EmbeddedChunks(Readers& readers, Writer& writer) : readers_(readers), writer_(writer) {}

  Commit<Result<void>> append(NewChunk chunk, Time now) override;
  Commit<Result<void>> finish(NewChunk last, Time now) override;
  std::optional<std::uint64_t> find(std::string_view key) override;
  std::size_t read(std::string_view key, std::int64_t number, std::size_t at, std::span<char> into) override;
  Commit<Result<ChunkDrop>> drop(std::vector<std::string> keys) override;
  std::vector<std::string> list(std::string_view after, Time before, int limit) override;
  Commit<Result<ChunkDrop>> drop_unfinished(Time before) override;
  std::int64_t count_unfinished(Time before) override;

 private:
  Readers& readers_;
  Writer& writer_;
};

}  // namespace restante::sqlite
