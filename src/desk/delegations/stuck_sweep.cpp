#include "desk/delegations/stuck_sweep.h"

#include <algorithm>

namespace restante::desk {
namespace {

constexpr auto kMeasureEvery = std::chrono::seconds(60);

}  // namespace

StuckSweep::StuckSweep(DelegationStore& store, Delegations& delegations, const Clock& clock, Log& log, Metrics& metrics,
                       StuckSweepRules rules)
    : store_(store),
      delegations_(delegations),
      clock_(clock),
      log_(log),
      metrics_(metrics),
      rules_(rules),
      guard_(clock, rules.stuck_after),
      started_at_(clock.now()),
      back_since_(clock.steady()) {}

void StuckSweep::tick() {
  const SteadyTime now = clock_.steady();
  // Acks from before a crash are only in the store.
  if (!caught_up_) delegations_.mark_all_acked();
  caught_up_ = true;
  delegations_.pick_up();
  if (!measured_at_ || now - *measured_at_ >= kMeasureEvery) measure();
  if (!swept_at_ || now - *swept_at_ >= rules_.every) run_once();
}

StuckSweepReport StuckSweep::run_once() {
  StuckSweepReport report;
  swept_at_ = clock_.steady();
  const bool believable = guard_.believable();
  report.waiting = !believable || *swept_at_ - back_since_ < rules_.stuck_after;
  if (!believable)
    log_.warn("delegation_sweep_waits", {{"reason", "the clock was changed: no task ends by time in this sweep"}});
  try {
    if (believable) sweep(report);
  } catch (...) {
    metrics_.delegation_sweep_errors.Increment();
    back_since_ = clock_.steady();
    last_run_.ended(clock_.now(), false);
    throw;
  }
  last_run_.ended(clock_.now(), true);
  if (report.failed + report.stuck + report.delivered > 0) {
    log_.info("delegations_swept",
              {{"failed", report.failed}, {"stuck", report.stuck}, {"delivered", report.delivered}});
  }
  return report;
}

void StuckSweep::sweep(StuckSweepReport& report) {
  for (bool more = true; more && !stopping_;) {
    const Time now = clock_.now();
    const SweptDelegations swept =
        store_.sweep_delegations(silent_since(now, report), undelivered_since(now), rules_.step, now).take().value();
    for (const DelegationChange& change : swept.changes) count(change, report);
    more = swept.more && !swept.changes.empty();
  }
}

Time StuckSweep::silent_since(Time now, const StuckSweepReport& report) const {
  return report.waiting ? Time() : now - rules_.stuck_after;
}

Time StuckSweep::undelivered_since(Time now) const {
  const Time long_ago = now - rules_.undelivered_after;
  return rules_.alone ? std::max(long_ago, started_at_) : long_ago;
}

void StuckSweep::count(const DelegationChange& change, StuckSweepReport& report) {
  delegations_.events().changed(change);
  const DelegationStatus status = change.delegation.status;
  if (status == DelegationStatus::failed) ++report.failed;
  if (status == DelegationStatus::stuck) ++report.stuck;
  if (status == DelegationStatus::queued) ++report.delivered;
}

void StuckSweep::measure() {
  measured_at_ = clock_.steady();
  const DelegationStats stats = store_.delegation_stats();
  for (const DelegationStatus status : kDelegationStatuses) {
    if (is_final(status)) continue;
    metrics_.delegations_in_flight(name_of(status)).Set(static_cast<double>(stats.of(status)));
  }
}

}  // namespace restante::desk
