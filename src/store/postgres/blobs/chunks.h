// SharedChunks is Chunks on PostgreSQL. It has its own lanes, so that file content does not delay messages. Must not
// outlive the pool.
//
// All chunks except the last are committed without waiting for the disk; the last one waits for all of them. PostgreSQL
// has one write-ahead log for all sessions, and a COMMIT that waits makes everything before it in that log durable. The
// last chunk is sent only after the chunks before it have been committed. If the database crashes in between, chunks
// may be lost. The next chunk then does not find the one before it and is refused.
#pragma once
#include <memory>
#include <vector>

#include "store/postgres/connections/session_pool.h"
#include "store/postgres/lanes/write_lane.h"
#include "store/sql/chunks.h"

namespace restante::postgres {

class SharedChunks final : public SqlChunks<SharedChunks> {
 public:
  explicit SharedChunks(SessionPool& pool) : pool_(pool) {}
  // Call it at least once, before any other method.
  void add(std::unique_ptr<WriteLane> lane) { lanes_.push_back(std::move(lane)); }
  // Appends that of its lanes.
  void add_progress(std::vector<WriterProgress>& all) const {
    for (const auto& lane : lanes_) all.push_back(lane->queue().progress());
  }

  std::size_t read(std::string_view key, std::int64_t number, std::size_t at, std::span<char> into) override;

 private:
  friend SqlChunks;
  using Bytes = postgres::Bytes;
  static constexpr const char* kUnfinished = "WHERE NOT finished AND touched_at < $1";
  // A locked row is being appended to, or another server drops it.
  static constexpr const char* kOldestFirst = "ORDER BY touched_at LIMIT $2 FOR UPDATE SKIP LOCKED";
  static constexpr const char* kCannotAppend = "a blob was dropped, or a part of it lost, while it was being written";

  template <class Body>
  auto use(Body body) {
    return pool_.use(std::move(body));
  }
  template <class Verb>
  auto write(ChunkWrite how, std::string_view key, std::size_t bytes, Verb verb) {
    WriteHints hints;
    hints.alone = how == ChunkWrite::drop;
    hints.lazily = how == ChunkWrite::append;
    auto& lane = *lanes_[std::hash<std::string_view>()(key) % lanes_.size()];
    return lane.submit(std::move(hints), bytes, std::move(verb));
  }
  static Connection& session_of(Transaction& work) { return work.connection(); }
  static ChunkDrop drop_some(Transaction& transaction, const std::vector<std::string>& keys);

  SessionPool& pool_;
  std::vector<std::unique_ptr<WriteLane>> lanes_;
};

}  // namespace restante::postgres
