// UploadEvents: what is said once a step of a file's life is durable: a line in the log, figures, and news for whoever
// looks on. What changed nothing says nothing. For Commit::then, on the writer's thread; thread-safe.
#pragma once
#include "base/log.h"
#include "base/metrics.h"
#include "desk/event_bus.h"
#include "store/store.h"

namespace restante::desk {

class UploadEvents {
 public:
  UploadEvents(EventBus& event_bus, Log& log, Metrics& metrics) : event_bus_(event_bus), log_(log), metrics_(metrics) {}

  void staged(const StagedUpload& staged);
  // No row of a log: told once to those who look on.
  void fetched(const Upload& upload);
  void acked(const UploadChange& change);
  void failed(const UploadChange& change);
  // Not by its agent: the bytes were found damaged.
  void damaged(const UploadChange& change);
  void recalled(const UploadChange& change);
  void expired(const UploadChange& change);

 private:
  void log_event(std::string_view event, const Upload& upload);
  void receipt(const UploadChange& change);

  EventBus& event_bus_;
  Log& log_;
  Metrics& metrics_;
};

}  // namespace restante::desk
