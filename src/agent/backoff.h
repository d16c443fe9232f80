// Backoff: the pause before the next attempt. It doubles up to a bound; each pause is random between half and all of
// that, so that a thousand agents do not come back to a restarted server in the same second. One thread at a time.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <random>

#include "base/crypto.h"

namespace restante::agent {

class Backoff {
 public:
  using Time = std::chrono::milliseconds;

  Backoff(Time first, Time most) : first_(first), most_(most), next_(first) {}

  Time next() {
    const auto whole = next_.count();
    next_ = std::min(next_ * 2, most_);
    return Time(std::uniform_int_distribution<Time::rep>(whole - whole / 2, whole)(random_));
  }
  void reset() { next_ = first_; }

 private:
  Time first_, most_, next_;
  // Not std::random_device: in a static libstdc++ it needs a newer glibc than the rest of this program.
  static std::uint32_t seed() {
    std::array<std::uint8_t, 4> bytes{};
    random_bytes(bytes);
    return std::bit_cast<std::uint32_t>(bytes);
  }
  std::minstd_rand random_{seed()};
};

}  // namespace restante::agent
