#include "store/inline/byte_semaphore.h"

namespace restante::inlined {

void ByteSemaphore::acquire(std::size_t bytes) {
  {
    std::unique_lock lock(mutex_);
    const auto number = requests_++;
    changed_.wait(lock, [&] { return admitted_ == number && (acquired_ == 0 || acquired_ + bytes <= most_); });
    ++admitted_;
    acquired_ += bytes;
  }
  changed_.notify_all();
}

void ByteSemaphore::release(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    acquired_ -= bytes;
  }
  changed_.notify_all();
}

}  // namespace restante::inlined
