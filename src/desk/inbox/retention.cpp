#include "desk/inbox/retention.h"

namespace restante::desk {
namespace {

constexpr auto kPeriod = std::chrono::hours(1);
constexpr auto kLongestTick = std::chrono::seconds(1);  // a stop of the server waits for it

}  // namespace

Retention::Retention(InboxStore& store, const Clock& clock, Log& log, Metrics& metrics, RetentionRules rules)
    : store_(store),
      clock_(clock),
      log_(log),
      metrics_(metrics),
      rules_(rules),
      guard_(clock, kPeriod),
      began_(clock.steady()) {}

void Retention::tick() {
  const SteadyTime start = clock_.steady();
  const bool believable = guard_.believable();
  if (!passing_ && start - began_ < kPeriod) return;
  if (!believable) return;
  if (!passing_) began_ = start;
  passing_ = true;
  while (clock_.steady() - start < kLongestTick) {
    const Time now = clock_.now();
    const auto pruned = store_.prune(now - rules_.keep, now - rules_.ceiling, now, rules_.step, after_).take();
    if (!pruned) return;
    pruned_ += pruned->rows;
    metrics_.activity_pruned.Increment(static_cast<double>(pruned->rows));
    after_ = pruned->after;
    if (pruned->more) continue;
    passing_ = false;
    break;
  }
  if (passing_ || pruned_ == 0) return;
  log_.info("activity_pruned", {{"rows", pruned_}});
  pruned_ = 0;
}

}  // namespace restante::desk
