// Presence knows which agents are online and which of them still poll. Every poll is a sign of life, but there are too
// many to write each one to the database: polls are kept in memory and written together every few seconds; a crash
// loses only some seconds of them. An agent with an open poll is listening. An agent without one for longer than its
// usual gap between two polls is silent, even if its heartbeats continue. Presence publishes an event when an agent
// comes online, becomes silent and goes offline, once each.
//
// Only agents that were seen by this server are in memory. Their silence is measured by the steady clock. An agent may
// poll another server on the same database: what the database knows is asked before an agent is called silent, and with
// it agents that this server has never seen. Time in which this server did not run is not counted. Thread-safe. Throws
// Unavailable where it uses the store.
#pragma once
#include <memory>
#include <optional>
#include <vector>

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

struct PresenceRules {
  std::chrono::seconds shortest_silence{60};  // a shorter one is a slow network or a busy agent
  bool alone = true;                          // no other server uses the database
  std::chrono::seconds flush_every{15};       // how often each server calls flush()
};

class Presence {
 public:
  Presence(WorkspaceStore& store, EventBus& event_bus, const Clock& clock, Log& log, Metrics& metrics,
           PresenceRules rules = {});

  // Reads what the store knows of the agent, unless it was seen here lately. Call it before a commit that calls seen().
  void prepare(WorkspaceId id) { prepare(id, Sign::any); }
  // The agent reads its inbox. It counts as listening until the returned value is destroyed, which may be after this
  // object.
  std::shared_ptr<const void> poll(WorkspaceId id);
  // The agent read with this cursor, which exists: it has handled all rows up to it.
  void acked(WorkspaceId id, const InboxQuery& cursor);
  // The seq up to which the agent has read, if that is not written yet; else 0.
  std::int64_t acked_seq(WorkspaceId id) const;
  // The same when it reads by row; else no value.
  std::optional<InboxRowId> acked_id(WorkspaceId id) const;
  // The agent registered or sent a heartbeat.
  void seen(WorkspaceId id);
  // The store has set it offline.
  void went_offline(WorkspaceId id);
  // The workspace was removed.
  void forget(WorkspaceId id);

  // `workspace` is as the store has it. Only workspaces in poll mode can be silent.
  PollStatus poll_status(const Workspace& workspace);
  // Writes the collected polls, and returns the workspaces whose inboxes were acked by them. What could not be written
  // is written the next time. For other servers a poll that stays open is written again from time to time.
  std::vector<WorkspaceId> flush();
  // Publishes which agents have become silent since the last call. Each silence is published by one server.
  void report_silences();

 private:
  struct Agents;
  class Poll;

  enum class Sign { poll, any };
  void prepare(WorkspaceId id, Sign sign);
  // How long a poll may be known to another server only.
  std::chrono::microseconds written_late() const;
  std::optional<std::chrono::microseconds> silent_for(const Workspace& workspace) const;
  std::vector<QuietAgent> quiet_here();
  // Also the agents that are quiet elsewhere. Returns those that were not recorded yet.
  Result<std::vector<WorkspaceId>> record_silences(const std::vector<QuietAgent>& here);
  std::vector<QuietAgent> quiet_elsewhere();
  void publish_status(WorkspaceId id, std::string_view event, const PollStatus& poll_status);

  WorkspaceStore& store_;
  EventBus& event_bus_;
  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  const PresenceRules rules_;
  const SteadyTime started_;
  std::shared_ptr<Agents> agents_;
};

// "silent for 7 min"; empty if it is not silent; "never polled" for an agent in poll mode without any poll.
std::string describe_silence(const Workspace& workspace, const PollStatus& poll_status);

}  // namespace restante::desk
