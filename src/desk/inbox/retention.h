// Retention deletes old inbox rows in bounded steps, so that other writes can run between them. A pass begins when the
// server starts and every hour. It is spread over as many ticks as needed; no tick works longer than a second. Nothing
// is pruned when the wall clock has just jumped. The store decides which rows may be deleted: rows that the agent has
// not acked are kept until the ceiling. One thread at a time.
#pragma once
#include <chrono>

#include "base/clock.h"
#include "base/jump_guard.h"
#include "base/log.h"
#include "base/metrics.h"
#include "store/inbox.h"

namespace restante::desk {

struct RetentionRules {
  std::chrono::seconds keep{std::chrono::hours(90 * 24)};
  std::chrono::seconds ceiling{std::chrono::hours(365 * 24)};
  int step = 500;  // rows in one write
};

class Retention {
 public:
  Retention(InboxStore& store, const Clock& clock, Log& log, Metrics& metrics, RetentionRules rules);

  // Deletes what is due. Throws Unavailable; the pass continues with the next tick.
  void tick();

 private:
  InboxStore& store_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  const RetentionRules rules_;
  JumpGuard guard_;
  bool passing_ = true;
  SteadyTime began_;
  std::int64_t pruned_ = 0;           // in this pass
  std::optional<WorkspaceId> after_;  // the last workspace that this pass has done
};

}  // namespace restante::desk
