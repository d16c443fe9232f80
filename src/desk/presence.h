// Presence: which agents are there, and which of them still listen. Every poll is a sign of life, but not every poll is
// worth a write: what polls tell is kept in memory and written together every few seconds; losing some seconds of it in
// a crash is harmless. An agent that has a poll open hears. One that has none for longer than it usually takes between
// two polls is silent, even while its heartbeats go on: deaf. That it comes, falls silent and goes is told as news,
// once each. A silence is measured by the steady clock, and none is counted while this server was not there.
// Thread-safe. Throws Unavailable where the store is asked.
#pragma once
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "desk/event_bus.h"
#include "store/store.h"

namespace restante::desk {

// How well an agent listens, as of now.
struct PollStatus {
  std::optional<Time> last_poll_at;
  std::optional<std::chrono::microseconds> usual_gap;  // between two polls; next to nothing for long polls
  std::optional<std::chrono::seconds> silent_for;      // only when that is longer than usual
  bool listening = false;                              // a poll is open right now
};

class Presence {
 public:
  // A silence shorter than the given one is a slow network or an agent that thinks.
  Presence(Store& store, EventBus& event_bus, const Clock& clock, Log& log, Metrics& metrics,
           std::chrono::seconds shortest_silence = std::chrono::seconds(60));

  // Reads what the store knows, the first time. Whoever calls seen() from a commit calls this before.
  void prepare();
  // The agent asks for its inbox, and hears until the returned value is gone. That may be after the desk has gone.
  std::shared_ptr<const void> poll(WorkspaceId id);
  // It asked with this cursor, which exists: what lies before it has been handled.
  void acked(WorkspaceId id, const InboxQuery& cursor);
  // What it has come past since that was last written down; 0 when nothing.
  std::int64_t acked_seq(WorkspaceId id) const;
  // It registered or beat.
  void seen(WorkspaceId id);
  // It was written down as offline.
  void went_offline(WorkspaceId id);
  // It was removed.
  void forget(WorkspaceId id);

  // With what the store knows of it. Only workspaces in poll mode can be silent.
  PollStatus poll_status(const Workspace& workspace);
  // Writes what has gathered, and gives those of whose inboxes something was acked. What could not be written is tried
  // again the next time.
  std::vector<WorkspaceId> flush();
  // Tells of those that have fallen silent since the last time.
  void report_silences();

 private:
  struct Agents;
  class Poll;

  // Called with the lock held: what the store knew when the server started.
  void load();
  void publish_status(WorkspaceId id, std::string_view event, const PollStatus& poll_status);

  Store& store_;
  EventBus& event_bus_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  const std::chrono::seconds shortest_silence_;
  std::shared_ptr<Agents> agents_;
};

// "silent for 7 min"; empty when it is not; "never polled" for an agent in poll mode that has yet to come.
std::string describe_silence(const Workspace& workspace, const PollStatus& poll_status);

}  // namespace restante::desk
