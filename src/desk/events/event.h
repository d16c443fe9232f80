// Event is one event of a live stream; these functions make events from inbox rows. Only this file knows the event
// names. Pure.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "desk/events/event_bus.h"
#include "model/inbox_row.h"

namespace restante::desk {

struct Event {
  std::string name;
  std::string data;                  // a JSON object
  std::optional<std::int64_t> id{};  // the seq from which a client continues
};

// ACTIVITY_LOGGED, with the seq as its id. Before it comes the event of the row's kind, if it has one (AGENT_MESSAGE,
// UPLOAD_STAGED, …), without an id. A client that loses its connection between the two gets both again and misses
// neither.
std::vector<Event> events_of(const InboxRow& row);
// Whether an event that is not an inbox row is one of the chat: the agent's presence, and files that may_see() shows to
// the chat's people. A file's event contains the file's source_id; one without that member is not shown.
bool is_chat(const LiveEvent& item);
// The event of something that is not an inbox row, with its workspace_id.
Event event_of(const LiveEvent& item);
// Rows may have been missed: the client reads everything again, up to `head`. The stream continues at `position`.
// `replayed`: `position` is where the client had been.
Event resync(WorkspaceId workspace, std::int64_t head, std::int64_t position, bool replayed);
Event resync_all();

}  // namespace restante::desk
