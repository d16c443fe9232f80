// Events makes live streams. A workspace's stream reads the inbox from the client's position, so it skips and repeats
// no row. Events that are not rows come from the EventBus, live only, in order between the rows. Every stream begins
// with RESYNC and sends it again when events were missed. Events is thread-safe; a stream belongs to one request and
// works in bounded steps.
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "desk/events/event.h"
#include "desk/events/event_bus.h"
#include "desk/principals/principals.h"
#include "store/store.h"

namespace restante::desk {

struct EventStep {
  std::vector<Event> events;
  bool more = false;  // call again at once
};

// What the streams have in common.
class EventStream {
 protected:
  EventStream(Store& store, EventBus& event_bus, Principals& principals, const Principal& caller)
      : store_(store), event_bus_(event_bus), principals_(principals), caller_(caller), subscription_(event_bus) {}
  ~EventStream() = default;

  Store& store_;
  EventBus& event_bus_;
  Principals& principals_;
  const Principal caller_;
  const EventBus::EventSubscription subscription_;
  std::uint64_t last_event_ = 0;  // number of the last event sent
};

// The stream of one workspace. A sender gets only events of the chat, its files and the agent's presence.
class WorkspaceEvents final : EventStream {
 public:
  WorkspaceEvents(Store& store, EventBus& event_bus, Principals& principals, const Principal& caller,
                  WorkspaceId workspace)
      : EventStream(store, event_bus, principals, caller), workspace_(workspace) {}

  // Starts after the last event that the client has seen. Starts at the inbox's end if there is no such event, or if it
  // cannot be read any more.
  Result<void> begin(std::optional<std::string_view> last_event_id);
  // None: the token was revoked or the workspace removed, and the stream has ended.
  std::optional<EventStep> next();

 private:
  std::optional<std::int64_t> replay_from(std::string_view last_event_id, std::int64_t head);
  bool over();
  void append_events(const InboxRow& row, std::vector<Event>& events) const;
  void append_events(const LiveEvent& item, std::vector<Event>& events) const;
  // Puts live events between the rows, in the order in which they happened.
  void interleave(const std::vector<InboxRow>& rows, const EventBus::Page& live, std::vector<Event>& events) const;

  const WorkspaceId workspace_;
  std::int64_t position_ = 0;  // seq of the last row sent
  std::optional<Event> opening_;
};

// The stream of all workspaces for the operator, live only. Its events have no ids, so a client cannot continue one.
class AllEvents final : EventStream {
 public:
  AllEvents(Store& store, EventBus& event_bus, Principals& principals, const Principal& caller)
      : EventStream(store, event_bus, principals, caller) {
    last_event_ = event_bus.last();
  }
  std::optional<EventStep> next();

 private:
  std::optional<InboxRow> find_row(const LiveEvent& item);

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
