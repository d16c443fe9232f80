#include "desk/principals/token_uses.h"

namespace restante::desk {
namespace {

constexpr auto kRecordInterval = std::chrono::minutes(1);

}  // namespace

void TokenUses::record(TokenId id) {
  const SteadyTime now = clock_.steady();
  const MutexLock lock(mutex_);
  const auto [found, first] = recorded_.try_emplace(id, now);
  if (!first && now - found->second < kRecordInterval) return;
  found->second = now;
  unwritten_.emplace_back(id, clock_.now());
}

void TokenUses::flush() {
  std::vector<std::pair<TokenId, Time>> uses;
  {
    const MutexLock lock(mutex_);
    uses.swap(unwritten_);
    const SteadyTime now = clock_.steady();
    std::erase_if(recorded_, [now](const auto& recorded) { return now - recorded.second >= kRecordInterval; });
  }
  if (!uses.empty()) (void)store_.record_token_uses(uses).take();
}

}  // namespace restante::desk
