// Events: live streams. A workspace's stream reads the log itself, from where the client was, and so skips and doubles
// nothing; what is no row of it comes from News, live only, in its place between the rows. Every stream begins with
// RESYNC, and says it again when news were missed. Events is thread-safe; a stream belongs to one request and works in
// bounded steps.
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "desk/event.h"
#include "desk/event_bus.h"
#include "desk/principals.h"
#include "store/store.h"

namespace restante::desk {

struct EventStep {
  std::vector<Event> events;
  bool more = false;  // ask again at once
};

// One workspace's stream. Senders are told of the chat, its files and the agent's presence alone.
class WorkspaceEvents {
 public:
  WorkspaceEvents(Store& store, EventBus& event_bus, Principals& principals, const Principal& caller,
                  WorkspaceId workspace);

  // After the last event the client has seen; from now on when there is none, or none that is (still) to be had.
  Result<void> begin(std::optional<std::string_view> last_event_id);
  // Nothing: the token was revoked or the workspace removed, and the stream is over.
  std::optional<EventStep> next();

 private:
  std::optional<std::int64_t> replay_from(std::string_view last_event_id, std::int64_t head);
  bool over();
  void append_events(const InboxRow& row, std::vector<Event>& events) const;
  void append_events(const LiveEvent& item, std::vector<Event>& events) const;
  // Live news among the rows, in the order they came about.
  void interleave(const std::vector<InboxRow>& rows, const EventBus::Page& live, std::vector<Event>& events) const;

  Store& store_;
  EventBus& event_bus_;
  Principals& principals_;
  const Principal caller_;
  const WorkspaceId workspace_;
  const EventBus::EventSubscription subscription_;
  std::int64_t position_ = 0;     // the last row told of
  std::uint64_t last_event_ = 0;  // the last news told of
  std::optional<Event> opening_;
};

// All workspaces, live, for the operator. Its events have no ids: there is nothing to go on from.
class AllEvents {
 public:
  AllEvents(Store& store, EventBus& event_bus, Principals& principals, const Principal& caller);
  std::optional<EventStep> next();

 private:
  std::optional<InboxRow> find_row(const LiveEvent& item);

  Store& store_;
  EventBus& event_bus_;
  Principals& principals_;
  const Principal caller_;
  const EventBus::EventSubscription subscription_;
  std::uint64_t last_event_ = 0;
  bool opened_ = false;
};

class Events {
 public:
  Events(Store& store, EventBus& event_bus, Principals& principals)
      : store_(store), event_bus_(event_bus), principals_(principals) {}

  // workspace_not_found, workspace_removed.
  Result<std::shared_ptr<WorkspaceEvents>> follow(const Principal& caller, WorkspaceId workspace,
                                                  std::optional<std::string_view> last_event_id);
  std::shared_ptr<AllEvents> follow_all(const Principal& caller);

 private:
  Store& store_;
  EventBus& event_bus_;
  Principals& principals_;
};

}  // namespace restante::desk
