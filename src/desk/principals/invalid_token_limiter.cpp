#include "desk/principals/invalid_token_limiter.h"

namespace restante::desk {
namespace {

constexpr std::chrono::seconds kWindow{60};

}  // namespace

std::optional<std::chrono::seconds> InvalidTokenLimiter::count_invalid(std::string_view address) {
  const SteadyTime now = clock_.steady();
  const MutexLock lock(mutex_);
  const auto known = by_address_.find(address);
  if (known != by_address_.end()) {
    counts_.splice(counts_.begin(), counts_, known->second);
  } else {
    counts_.push_front({std::string(address), now, 0});
    by_address_.emplace(counts_.front().address, counts_.begin());
  }
  if (counts_.size() > addresses_) {
    by_address_.erase(counts_.back().address);
    counts_.pop_back();
  }
  Count& count = counts_.front();
  if (now - count.since >= kWindow) {
    count.since = now;
    count.count_in_minute = 0;
  }
  if (count.count_in_minute < per_minute_) {
    ++count.count_in_minute;
    return std::nullopt;
  }
  return std::chrono::ceil<std::chrono::seconds>(count.since + kWindow - now);
}

}  // namespace restante::desk
