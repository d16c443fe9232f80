// Presence: who has polled lately. Every poll is a sign of life, but not every poll is worth a write: the latest of
// each workspace is kept in memory and written together. Losing some seconds of it in a crash is harmless. Thread-safe.
#pragma once
#include <mutex>
#include <unordered_map>

#include "base/clock.h"
#include "store/store.h"

namespace restante::desk {

class Presence {
 public:
  explicit Presence(Store& store) : store_(store) {}
  void polled(WorkspaceId id, Time now);
  // Writes what has gathered; called every few seconds.
  void flush();

 private:
  Store& store_;
  std::mutex mutex_;  // polls come on all pool threads
  std::unordered_map<WorkspaceId, Time> latest_;
};

}  // namespace restante::desk
