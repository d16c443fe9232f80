#include "agent/hops.h"

#include <algorithm>

#include "base/clock.h"

namespace restante::agent {
namespace {

constexpr std::chrono::hours kWindow{1};
constexpr std::size_t kMostRemembered = 4'096;  // eight for each of some hundred peers

// A message without a readable time counts as recent.
bool is_recent(const AutomaticAnswer& answer, std::optional<Time> now) {
  const auto at = parse_time(answer.created_at);
  return !now || !at || *now - *at < kWindow;
}

}  // namespace

std::optional<std::int64_t> next_hop(const std::deque<AutomaticAnswer>& answered, const std::string& peer,
                                     std::int64_t hops, const std::string& created_at) {
  if (hops >= kMostHops) return {};
  if (hops > 0) return hops + 1;
  const auto now = parse_time(created_at);
  const auto recent = std::count_if(answered.begin(), answered.end(), [&](const AutomaticAnswer& answer) {
    return answer.peer == peer && is_recent(answer, now);
  });
  return recent >= kMostHops ? std::nullopt : std::optional<std::int64_t>(1);
}

void remember(std::deque<AutomaticAnswer>& answered, AutomaticAnswer answer) {
  const auto now = parse_time(answer.created_at);
  if (now) std::erase_if(answered, [&](const AutomaticAnswer& old) { return !is_recent(old, now); });
  answered.push_back(std::move(answer));
  while (answered.size() > kMostRemembered) answered.pop_front();
}

}  // namespace restante::agent
