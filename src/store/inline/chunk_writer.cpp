#include "store/inline/chunk_writer.h"

#include <stdexcept>
#include <utility>

#include "base/blocking_scope.h"
#include "store/blob_key.h"

namespace restante::inlined {
namespace {

// A larger blob will probably fill a chunk; growing the buffer by doubling would allocate more than one chunk.
constexpr std::size_t kSmall = 256 << 10;

}  // namespace

ChunkWriter::ChunkWriter(Chunks& chunks, std::shared_ptr<ByteSemaphore> semaphore, const Clock& clock)
    : chunks_(chunks), semaphore_(std::move(semaphore)), clock_(clock), key_(new_blob_key(clock.now())) {}

ChunkWriter::~ChunkWriter() {
  if (state_ == State::finished || number_ == 0) return;
  try {
    settle();
  } catch (const std::exception&) {
    // The blob is dropped anyway.
  }
  try {
    const BlockingScope waiting;
    while (chunks_.drop({key_}).take().value().more) continue;
  } catch (const std::exception&) {
    // The sweep will delete the unfinished blob.
  }
}

void ChunkWriter::write(std::string_view bytes) {
  if (state_ != State::writing) throw std::logic_error("write to a blob that has ended");
  state_ = State::broken;
  while (!bytes.empty()) {
    if (gathered_.size() == kChunkBytes) {
      settle();
      send(&Chunks::append);
    }
    const auto piece = bytes.substr(0, kChunkBytes - gathered_.size());
    if (gathered_.size() + piece.size() > kSmall) gathered_.reserve(kChunkBytes);
    gathered_ += piece;
    bytes.remove_prefix(piece.size());
  }
  state_ = State::writing;
}

std::string ChunkWriter::finish() {
  if (state_ != State::writing) throw std::logic_error("finish of a blob that has ended");
  state_ = State::broken;
  settle();
  send(&Chunks::finish);
  settle();
  state_ = State::finished;
  return key_;
}

void ChunkWriter::settle() {
  if (!pending_) return;
  const BlockingScope waiting;
  std::exchange(pending_, std::nullopt)->take().value();
}

void ChunkWriter::send(Write write) {
  const BlockingScope waiting;
  const auto reservation = std::make_shared<ByteReservation>(semaphore_, gathered_.size());
  pending_ = (chunks_.*write)({key_, number_++, std::exchange(gathered_, {})}, clock_.now());
  // Keeps the reservation until the write is committed, also when this object is destroyed before.
  pending_->on_done([reservation] {});
}

}  // namespace restante::inlined
