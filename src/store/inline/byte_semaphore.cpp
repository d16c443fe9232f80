#include "store/inline/byte_semaphore.h"

namespace restante::inlined {

void ByteSemaphore::acquire(std::size_t bytes) {
  {
    MutexLock lock(mutex_);
    const auto number = requests_++;
    while (!is_next(number, bytes)) changed_.wait(lock);
    ++admitted_;
    acquired_ += bytes;
  }
  changed_.notify_all();
}

void ByteSemaphore::release(std::size_t bytes) {
  {
    const MutexLock lock(mutex_);
    acquired_ -= bytes;
  }
  changed_.notify_all();
}

}  // namespace restante::inlined
