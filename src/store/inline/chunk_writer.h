// Draft: a blob on its way into the database. It gathers a chunk, hands it over and gathers the next while that one is
// committed; so it holds two chunks at most. Destroyed before it is finished, it drops what it wrote; what that misses
// is an unfinished blob like any other. Belongs to one thread at a time and must not outlive its Chunks.
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

  void gather(std::string_view bytes);
  void hand_over();
  // Waits until the chunk that was handed over is committed.
  void settle();
  using Write = Commit<Result<void>> (Chunks::*)(NewChunk, Time);
  // What has gathered, as soon as there is room for it on the way.
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
