// Inbox: reading a workspace's log. An agent that reads is alive, and says so by reading. Thread-safe.
#pragma once
#include <string_view>

#include "base/clock.h"
#include "desk/news.h"
#include "desk/peer_info.h"
#include "desk/presence.h"
#include "model/principal.h"
#include "store/store.h"

namespace restante::desk {

class Inbox {
 public:
  Inbox(Store& store, Presence& presence, News& news, const Clock& clock)
      : store_(store), presence_(presence), news_(news), clock_(clock) {}

  // workspace_not_found, workspace_removed.
  Result<void> check(WorkspaceId workspace);
  // Somebody starts to read, if it is there. By its own agent it is a sign of life, and the
  // agent hears as long as the value is kept; of others the value is null.
  Result<std::shared_ptr<const void>> enter(const Principal& caller, WorkspaceId workspace);
  // One page. The limit is brought into 1 … 500, where 0 and below ask for the usual 100. cursor_gone. The agent that
  // asks with a cursor has handled what lies before it. A sender gets the chat alone.
  Result<std::vector<Activity>> read(const Principal& caller, WorkspaceId workspace, const ActivityQuery& query);
  // The same for nobody in particular.
  Result<std::vector<Activity>> read(WorkspaceId workspace, ActivityQuery query);
  // Of people and other agents, that an agent in poll mode has not come past yet. Counts one page of what waits: 500
  // messages are 500 or more.
  std::int64_t waiting_messages(WorkspaceId workspace);
  // For the rows of one page.
  PeerInfo peer_info() { return {store_, clock_.now()}; }
  // A row the agent writes down itself; what it may be is told by may_be_logged().
  Commit<Result<Appended>> log(WorkspaceId workspace, const NewActivity& activity);
  Commit<Result<Claimed<Appended>>> log_once(WorkspaceId workspace, const NewActivity& activity, const Claim& claim,
                                             Render<Appended> render);
  // Everything up to `seq` was handled and may be pruned by age. Only ever forward; gives what stands.
  Commit<Result<std::int64_t>> ack(WorkspaceId workspace, std::int64_t seq) {
    return store_.ack_activity(workspace, seq);
  }

 private:
  Store& store_;
  Presence& presence_;
  News& news_;
  const Clock& clock_;
};

// The kinds of rows an agent may log; all others are the platform's own.
bool may_be_logged(std::string_view activity_type);

}  // namespace restante::desk
