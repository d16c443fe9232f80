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

#include "store/chunks.h"
#include "store/postgres/connections/session_pool.h"
#include "store/postgres/lanes/write_lane.h"

namespace restante::postgres {

class SharedChunks final : public Chunks {
 public:
  explicit SharedChunks(SessionPool& pool) : pool_(pool) {}
  // Call it at least once, before any other method.
  void add(std::unique_ptr<WriteLane> lane) { lanes_.push_back(std::move(lane)); }

  Commit<Result<void>> append(NewChunk chunk, Time now) override;
  Commit<Result<void>> finish(NewChunk last, Time now) override;
  std::optional<std::uint64_t> find(std::string_view key) override;
  std::size_t read(std::string_view key, std::int64_t number, std::size_t at, std::span<char> into) override;
  Commit<Result<ChunkDrop>> drop(std::vector<std::string> keys) override;
  std::vector<std::string> list(std::string_view after, Time before, int limit) override;
  Commit<Result<ChunkDrop>> drop_unfinished(Time before) override;
  std::int64_t count_unfinished(Time before) override;

 private:
  WriteLane& lane_of(std::string_view key) { return *lanes_[std::hash<std::string_view>()(key) % lanes_.size()]; }

  SessionPool& pool_;
  std::vector<std::unique_ptr<WriteLane>> lanes_;
};

}  // namespace restante::postgres
