// Inbox: reading a workspace's log. An agent that reads is alive, and says so by reading. Thread-safe.
#pragma once
#include <string_view>

#include "base/clock.h"
#include "desk/event_bus.h"
#include "desk/peer_info.h"
#include "desk/presence.h"
#include "model/principal.h"
#include "store/store.h"

namespace restante::desk {

class Inbox {
 public:
  Inbox(Store& store, Presence& presence, EventBus& event_bus, const Clock& clock)
      : store_(store), presence_(presence), event_bus_(event_bus), clock_(clock) {}

  // workspace_not_found, workspace_removed.
  Result<void> check(WorkspaceId workspace);
  // Somebody starts to read, if it is there. By its own agent it is a sign of life, and the
  // agent hears as long as the value is kept; of others the value is null.
  Result<std::shared_ptr<const void>> begin_read(const Principal& caller, WorkspaceId workspace);
  // One page. The limit is brought into 1 … 500, where 0 and below ask for the usual 100. cursor_gone. The agent that
  // asks with a cursor has handled what lies before it. A sender gets the chat alone.
  Result<std::vector<InboxRow>> read(const Principal& caller, WorkspaceId workspace, const InboxQuery& query);
  // The same for nobody in particular.
  Result<std::vector<InboxRow>> read(WorkspaceId workspace, InboxQuery query);
  // Of people and other agents, that an agent in poll mode has not come past yet. Counts one page of what waits: 500
  // messages are 500 or more.
  std::int64_t waiting_messages(WorkspaceId workspace);
  // For the rows of one page.
  PeerInfo peer_info() { return {store_, clock_.now()}; }
  // A row the agent writes down itself; what it may be is told by may_be_appended().
  Commit<Result<Appended>> append_own_row(WorkspaceId workspace, const NewInboxRow& activity);
  Commit<Result<Claimed<Appended>>> append_own_row_once(WorkspaceId workspace, const NewInboxRow& activity,
                                                        const Claim& claim, Render<Appended> render);
  // Everything up to `seq` was handled and may be pruned by age. Only ever forward; gives what stands.
  Commit<Result<std::int64_t>> ack(WorkspaceId workspace, std::int64_t seq) { return store_.ack_inbox(workspace, seq); }

 private:
  Store& store_;
  Presence& presence_;
  EventBus& event_bus_;
  const Clock& clock_;
};

// The kinds of rows an agent may log; all others are the platform's own.
bool may_be_appended(std::string_view activity_type);

}  // namespace restante::desk
