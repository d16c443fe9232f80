// UploadEvents reports a durable change of an upload: it writes a log line, counts metrics and publishes live events. A
// change without effect is not reported. Called from Commit::then on the writer thread; thread-safe.
#pragma once
#include "base/log.h"
#include "base/metrics.h"
#include "desk/events/event_bus.h"
#include "store/store.h"

namespace restante::desk {

class UploadEvents {
 public:
  UploadEvents(EventBus& event_bus, Log& log, Metrics& metrics) : event_bus_(event_bus), log_(log), metrics_(metrics) {}

  void staged(const StagedUpload& staged);
  // Not an inbox row: published once as a live event.
  void fetched(const Upload& upload);
  void acked(const UploadChange& change);
  void failed(const UploadChange& change);
  // Not reported by the agent: the server found the content damaged.
  void damaged(const UploadChange& change);
  void recalled(const UploadChange& change);
  void expired(const UploadChange& change);
  // Nothing has changed: its content could not be read now.
  void unreadable(const Upload& upload, std::string_view reason);

 private:
  void log_event(std::string_view event, const Upload& upload);
  void log_event(LogLevel level, std::string_view event, const Upload& upload, LogField fact);
  void receipt(const UploadChange& change);

  EventBus& event_bus_;
  Log& log_;
  Metrics& metrics_;
};

}  // namespace restante::desk
