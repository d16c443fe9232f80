// ChunkWriter: writes one blob into the database. It collects a chunk, sends it, and collects the next one while that
// is being committed, so it holds at most two chunks in memory. If it is destroyed before finish(), it drops the
// chunks; if that fails, the sweep deletes them as an unfinished blob. Belongs to one thread at a time and must not
// outlive its Chunks.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "store/blobs.h"
#include "store/chunks.h"
#include "store/inline/byte_semaphore.h"

namespace restante::inlined {

class ChunkWriter final : public BlobWriter {
 public:
  ChunkWriter(Chunks& chunks, std::shared_ptr<ByteSemaphore> semaphore, const Clock& clock);
  ~ChunkWriter() override;
  void write(std::string_view bytes) override;
  std::string finish() override;

 private:
  enum class State { writing, broken, finished };

  // Waits until the chunk that was sent is committed.
  void settle();
  using Write = Commit<Result<void>> (Chunks::*)(NewChunk, Time);
  // Sends the collected bytes, after waiting for a reservation.
  void send(Write write);

  Chunks& chunks_;
  const std::shared_ptr<ByteSemaphore> semaphore_;
  const Clock& clock_;
  const std::string key_;
  std::string gathered_;
  std::int64_t number_ = 0;  // of the next chunk
  std::optional<Commit<Result<void>>> pending_;
  State state_ = State::writing;
};

}  // namespace restante::inlined
