// DelegationEvents reports a durable step of a delegation: it writes a log line, counts metrics and publishes live
// events. A step that changed nothing is not reported. Called from Commit::then on the writer thread; thread-safe.
#pragma once
#include "base/log.h"
#include "base/metrics.h"
#include "desk/events/event_bus.h"
#include "desk/uploads/upload_events.h"
#include "store/store.h"

namespace restante::desk {

class DelegationEvents {
 public:
  DelegationEvents(EventBus& event_bus, UploadEvents& uploads, Log& log, Metrics& metrics)
      : event_bus_(event_bus), uploads_(uploads), log_(log), metrics_(metrics) {}

  void opened(const OpenedDelegation& opened);
  void changed(const DelegationChange& change);
  // A heartbeat with new progress.
  void progressed(const DelegationChange& change);

 private:
  void publish_rows(const std::vector<AppendedRow>& rows, const std::vector<StagedUpload>& files);
  void publish_status(const Delegation& delegation);
  void log_event(std::string_view event, const Delegation& delegation);

  EventBus& event_bus_;
  UploadEvents& uploads_;
  Log& log_;
  Metrics& metrics_;
};

}  // namespace restante::desk
