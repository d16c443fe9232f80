#include "store/inline/flights.h"

namespace restante::inlined {

void Flights::take_off(std::size_t bytes) {
  {
    std::unique_lock lock(mutex_);
    const auto turn = asked_++;
    changed_.wait(lock, [&] { return gone_ == turn && (flying_ == 0 || flying_ + bytes <= most_); });
    ++gone_;
    flying_ += bytes;
  }
  changed_.notify_all();
}

void Flights::land(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    flying_ -= bytes;
  }
  changed_.notify_all();
}

}  // namespace restante::inlined
