// Event: what a live stream tells, and how a row of the log is told. The one place that knows the names. Pure.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "desk/event_bus.h"
#include "model/inbox_row.h"

namespace restante::desk {

struct Event {
  std::string name;
  std::string data;                  // a JSON object
  std::optional<std::int64_t> id{};  // the seq after which a client goes on
};

// ACTIVITY_LOGGED, which carries the seq as its id; before it, where there is one, the event of the row's kind
// (AGENT_MESSAGE, UPLOAD_STAGED, …), without an id: who is cut off between the two is told both again and never misses
// the second.
std::vector<Event> events_of(const InboxRow& row);
// What is no row of a log, with its workspace_id.
Event event_of(const LiveEvent& item);
// The log may have gone on unseen: look at everything again, up to `head`. `position` is where the stream goes on;
// `replayed` when that is where the client had been.
Event resync(WorkspaceId workspace, std::int64_t head, std::int64_t position, bool replayed);
Event resync_all();

}  // namespace restante::desk
