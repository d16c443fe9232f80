// EmbeddedChunks: Chunks on SQLite. Each chunk is one verb of the writer, grouped with other waiting verbs. Every
// COMMIT is durable here, since all writes share one log and one sync. Must not outlive the readers and the writer.
// Thread-safe.
#pragma once
#include "store/sql/chunks.h"
#include "store/sqlite/database/readers.h"
#include "store/sqlite/database/writer.h"

namespace restante::sqlite {

class EmbeddedChunks final : public SqlChunks<EmbeddedChunks> {
 public:
  EmbeddedChunks(Readers& readers, Writer& writer) : readers_(readers), writer_(writer) {}

  std::size_t read(std::string_view key, std::int64_t number, std::size_t at, std::span<char> into) override;

 private:
  friend SqlChunks;
  using Bytes = sqlite::Bytes;
  static constexpr const char* kUnfinished = "WHERE finished = 0 AND touched_at < $1";
  static constexpr const char* kOldestFirst = "ORDER BY touched_at LIMIT $2";
  static constexpr const char* kCannotAppend = "a blob was dropped while it was being written";

  template <class Body>
  auto use(Body body) {
    auto reader = readers_.take();
    return body(*reader);
  }
  template <class Verb>
  auto write(ChunkWrite, std::string_view, std::size_t bytes, Verb verb) {
    return writer_.submit(bytes, std::move(verb));
  }
  static Database& session_of(Database& work) { return work; }
  static ChunkDrop drop_some(Database& database, const std::vector<std::string>& keys);

  Readers& readers_;
  Writer& writer_;
};

}  // namespace restante::sqlite
