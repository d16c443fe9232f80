// UploadPushes: what came of passing uploads straight on to push workspaces' callbacks, written down: a row in the
// target's log for every one the callback has seen anything of, figures and a line for all. We know their sizes, never
// their content. Thread-safe.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "desk/event_bus.h"
#include "store/store.h"

namespace restante::desk {

struct UploadPush {
  WorkspaceId target;
  std::string traceparent;
  std::string outcome;     // of the closed list in base/metrics.cpp
  int status = 0;          // what the callback answered; 0: nothing that counts
  std::uint64_t size = 0;  // bytes of the body it was sent
  std::chrono::milliseconds took{0};
  std::string reply;  // kept where it is JSON
};

class UploadPushes {
 public:
  UploadPushes(Store& store, EventBus& event_bus, const Clock& clock, Log& log, Metrics& metrics)
      : store_(store), event_bus_(event_bus), clock_(clock), log_(log), metrics_(metrics) {}

  // Of type a2a_send, so that nobody who polls takes it for mail: the callback had it.
  Commit<Result<Appended>> record(const UploadPush& push);
  // The callback was not asked, or never heard of it: no row, as nothing has happened to the workspace.
  void record_undelivered(WorkspaceId target, std::string_view outcome);

 private:
  Store& store_;
  EventBus& event_bus_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
};

}  // namespace restante::desk
