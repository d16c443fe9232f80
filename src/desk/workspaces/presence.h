// Presence knows which agents are online and which of them still poll. Every poll is a sign of life, but there are too
// many to write each one to the database: polls are kept in memory and written together every few seconds; a crash
// loses only some seconds of them. An agent with an open poll is listening. An agent without one for longer than its
// usual gap between two polls is silent, even if its heartbeats continue. Presence publishes an event when an agent
// comes online, becomes silent and goes offline, once each. A silence is measured by the steady clock; time in which
// this server did not run is not counted. Thread-safe. Throws Unavailable where it uses the store.
#pragma once
#include <memory>
#include <unordered_map>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "desk/events/event_bus.h"
#include "store/workspaces.h"

namespace restante::desk {

// How an agent polls, as of now.
struct PollStatus {
  std::optional<Time> last_poll_at;
  std::optional<std::chrono::microseconds> usual_gap;  // between two polls; near zero for long polls
  std::optional<std::chrono::seconds> silent_for;      // only if that is longer than usual
  bool listening = false;                              // a poll is open right now
};

class Presence {
 public:
  // A silence shorter than `shortest_silence` is a slow network or a busy agent.
  Presence(WorkspaceStore& store, EventBus& event_bus, const Clock& clock, Log& log, Metrics& metrics,
           std::chrono::seconds shortest_silence = std::chrono::seconds(60));

  // Reads the store's state, the first time. Call it before a commit that calls seen().
  void prepare();
  // The agent reads its inbox. It counts as listening until the returned value is destroyed, which may be after this
  // object.
  std::shared_ptr<const void> poll(WorkspaceId id);
  // The agent read with this cursor, which exists: it has handled all rows up to it.
  void acked(WorkspaceId id, const InboxQuery& cursor);
  // The seq up to which the agent has read, if that is not written yet; else 0.
  std::int64_t acked_seq(WorkspaceId id) const;
  // The agent registered or sent a heartbeat.
  void seen(WorkspaceId id);
  // The store has set it offline.
  void went_offline(WorkspaceId id);
  // The workspace was removed.
  void forget(WorkspaceId id);

  // `workspace` is as the store has it. Only workspaces in poll mode can be silent.
  PollStatus poll_status(const Workspace& workspace);
  // Writes the collected polls, and returns the workspaces whose inboxes were acked by them. What could not be written
  // is written the next time.
  std::vector<WorkspaceId> flush();
  // Publishes which agents have become silent since the last call.
  void report_silences();

 private:
  struct Agents;
  class Poll;

  void publish_status(WorkspaceId id, std::string_view event, const PollStatus& poll_status);

  WorkspaceStore& store_;
  EventBus& event_bus_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  const std::chrono::seconds shortest_silence_;
  std::shared_ptr<Agents> agents_;
};

// "silent for 7 min"; empty if it is not silent; "never polled" for an agent in poll mode without any poll.
std::string describe_silence(const Workspace& workspace, const PollStatus& poll_status);

}  // namespace restante::desk
