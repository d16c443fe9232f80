#include "desk/events/other_servers.h"

#include <algorithm>

namespace restante::desk {
namespace {

// Streams read the rows themselves. Beyond so many rows at once they only need to know that there are some.
constexpr std::int64_t kMostRows = 100;

}  // namespace

OtherServers::OtherServers(Announcements& announcements, EventBus& event_bus, Bell& bell, Log& log,
                           std::function<void()> read_again)
    : announcements_(announcements), event_bus_(event_bus), bell_(bell), log_(log), read_again_(std::move(read_again)) {
  announcements_.subscribe(this);
}

OtherServers::~OtherServers() { announcements_.subscribe(nullptr); }

void OtherServers::appended(WorkspaceId workspace, std::int64_t first, std::int64_t last) {
  if (!event_bus_.has_subscribers()) return event_bus_.changed(workspace);
  for (std::int64_t seq = std::max(first, last - kMostRows + 1); seq <= last; ++seq) {
    event_bus_.appended(workspace, {InboxRowId(), seq, false});
  }
}

void OtherServers::revoked(TokenId token) { bell_.ring(topic_of(token)); }

void OtherServers::disconnected() {
  log_.warn("announcements_lost");
  bell_.release();
}

void OtherServers::reconnected() {
  log_.info("announcements_healed");
  if (read_again_) read_again_();
  event_bus_.missed();
}

}  // namespace restante::desk
