#include "store/inline/draft.h"

#include <stdexcept>
#include <utility>

#include "base/wait.h"
#include "store/blob_key.h"

namespace restante::inlined {
namespace {

// What is larger will most likely fill a chunk; growing by doubling would take more than one.
constexpr std::size_t kSmall = 256 << 10;

}  // namespace

Draft::Draft(Chunks& chunks, std::shared_ptr<Flights> flights, const Clock& clock)
    : chunks_(chunks), flights_(std::move(flights)), clock_(clock), key_(new_blob_key(clock.now())) {}

Draft::~Draft() {
  if (state_ == State::finished || number_ == 0) return;
  try {
    settle();
  } catch (const std::exception&) {
    // It is being given up; whoever wrote it was told, or is gone.
  }
  try {
    const Wait waiting;
    while (chunks_.drop({key_}).take().value().more) continue;
  } catch (const std::exception&) {
    // An unfinished blob more for the sweep.
  }
}

void Draft::write(std::string_view bytes) {
  if (state_ != State::writing) throw std::logic_error("write to a blob that has ended");
  state_ = State::broken;
  while (!bytes.empty()) {
    if (gathered_.size() == kChunkBytes) hand_over();
    const auto piece = bytes.substr(0, kChunkBytes - gathered_.size());
    gather(piece);
    bytes.remove_prefix(piece.size());
  }
  state_ = State::writing;
}

void Draft::gather(std::string_view bytes) {
  if (gathered_.size() + bytes.size() > kSmall) gathered_.reserve(kChunkBytes);
  gathered_ += bytes;
}

void Draft::hand_over() {
  settle();
  send(&Chunks::append);
}

std::string Draft::finish() {
  if (state_ != State::writing) throw std::logic_error("finish of a blob that has ended");
  state_ = State::broken;
  settle();
  send(&Chunks::finish);
  settle();
  state_ = State::finished;
  return key_;
}

void Draft::settle() {
  if (!flying_) return;
  const Wait waiting;
  std::exchange(flying_, std::nullopt)->take().value();
}

void Draft::send(Write write) {
  const Wait waiting;
  const auto flight = std::make_shared<Flight>(flights_, gathered_.size());
  flying_ = (chunks_.*write)({key_, number_++, std::exchange(gathered_, {})}, clock_.now());
  // It lasts until the write is settled, also when this is gone by then.
  flying_->on_done([flight] {});
}

}  // namespace restante::inlined
