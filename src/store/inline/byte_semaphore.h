// ByteSemaphore: limits how many bytes all chunk writers together have sent to the database and not committed yet. The
// queue of the database's writer refuses what is too much. A ByteReservation waits instead, in the order of requests,
// so that two hundred uploads at once are slow but none is refused. Thread-safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/mutex.h"

namespace restante::inlined {

class ByteSemaphore {
 public:
  explicit ByteSemaphore(std::size_t most) : most_(most) {}

 private:
  friend class ByteReservation;
  void acquire(std::size_t bytes);
  void release(std::size_t bytes);
  bool is_next(std::uint64_t number, std::size_t bytes) const RESTANTE_REQUIRES(mutex_) {
    return admitted_ == number && (acquired_ == 0 || acquired_ + bytes <= most_);
  }

  const std::size_t most_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::size_t acquired_ RESTANTE_GUARDED_BY(mutex_) = 0;  // bytes
  // How many reservations were requested, and how many of them were admitted.
  std::uint64_t requests_ RESTANTE_GUARDED_BY(mutex_) = 0;
  std::uint64_t admitted_ RESTANTE_GUARDED_BY(mutex_) = 0;
};

// Reserves `bytes` until it is destroyed. The constructor waits until they are available; a reservation that is larger
// than the limit is admitted when there is no other.
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
