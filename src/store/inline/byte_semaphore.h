// Flights: how many bytes of all drafts together are on their way to the database. The writer's queue refuses what is
// too much; whoever takes off here first waits instead, in the order of asking, so that two hundred uploads at once are
// slow and none is refused. Thread-safe.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace restante::inlined {

class ByteSemaphore {
 public:
  explicit ByteSemaphore(std::size_t most) : most_(most) {}

 private:
  friend class ByteReservation;
  void acquire(std::size_t bytes);
  void release(std::size_t bytes);

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t acquired_ = 0;  // bytes
  std::uint64_t asked_ = 0;   // how many have asked, and how many of them were let go
  std::uint64_t admitted_ = 0;
};

// Room for so many bytes, for as long as this lives. Made, it waits until there is; what is larger than all room flies
// alone.
class ByteReservation {
 public:
  ByteReservation(std::shared_ptr<ByteSemaphore> semaphore, std::size_t bytes)
      : semaphore_(std::move(semaphore)), bytes_(bytes) {
    semaphore_->acquire(bytes_);
  }
  ~ByteReservation() { semaphore_->release(bytes_); }
  ByteReservation(const ByteReservation&) = delete;
  ByteReservation& operator=(const ByteReservation&) = delete;

 private:
  const std::shared_ptr<ByteSemaphore> semaphore_;
  const std::size_t bytes_;
};

}  // namespace restante::inlined
