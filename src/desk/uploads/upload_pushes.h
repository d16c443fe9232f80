// UploadPushes records the outcome of uploads that are passed directly to a push workspace's callback: an inbox row for
// every upload of which the callback got at least a part, and metrics and a log line for all. The server knows the size
// of such an upload, never its content. Thread-safe.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "desk/events/event_bus.h"
#include "store/inbox.h"

namespace restante::desk {

struct UploadPush {
  WorkspaceId target;
  std::string traceparent;
  std::string outcome;     // one of the list in base/metrics.cpp
  int status = 0;          // of the callback's answer; 0: no valid answer
  std::uint64_t size = 0;  // bytes of the body that were sent
  std::chrono::milliseconds took{0};
  std::string reply;  // kept if it is JSON
};

class UploadPushes {
 public:
  UploadPushes(InboxStore& store, EventBus& event_bus, const Clock& clock, Log& log, Metrics& metrics)
      : store_(store), event_bus_(event_bus), clock_(clock), log_(log), metrics_(metrics) {}

  // The row has type a2a_send, so that a polling agent does not take it for a new message: the callback had it.
  Commit<Result<Appended>> record(const UploadPush& push);
  // The callback was not called, or got nothing: no row, since nothing has happened to the workspace.
  void record_undelivered(WorkspaceId target, std::string_view outcome);

 private:
  InboxStore& store_;
  EventBus& event_bus_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
};

}  // namespace restante::desk
