// Inbox reads a workspace's inbox and appends the agent's own rows. When the agent reads, that is a sign of life.
// Thread-safe.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "desk/events/event_bus.h"
#include "desk/inbox/message_content.h"
#include "desk/inbox/search.h"
#include "desk/workspaces/presence.h"
#include "model/principal.h"
#include "store/store.h"

namespace restante::desk {

struct Peer {
  std::string name;
  std::string role;
};

struct Attachment {
  FilePart file;
  std::string_view state;  // an upload's, or "unknown" if it is not stored here or not for the caller to see
};

// The sender of a row and the state of the files that it names, for one page of rows. It looks up each thing once, and
// only a bounded number for each page: beyond that a file's state is "unknown". Belongs to one request.
class PeerInfo {
 public:
  PeerInfo(Store& store, const Principal& caller, Time now) : store_(store), caller_(caller), now_(now) {}

  // The workspace the row came from; none for people and for a removed workspace.
  std::optional<Peer> peer_of(const InboxRow& row);
  std::vector<Attachment> attachments_of(const InboxRow& row);

 private:
  std::string_view state_of(std::string_view uri, WorkspaceId workspace);

  Store& store_;
  const Principal caller_;
  const Time now_;
  std::unordered_map<WorkspaceId, std::optional<Peer>> peers_;
  std::unordered_map<FileId, std::string_view> states_;
};

// The rows of one request, in bounded steps. Belongs to the request.
class InboxReading {
 public:
  // The next step. An empty answer is final only if it is not unfinished(); later calls find rows that are appended
  // later. cursor_gone. An agent that reads after a cursor has handled all rows up to it. A sender gets only the chat.
  Result<std::vector<InboxRow>> next();
  bool unfinished() const { return search_.unfinished(); }

 private:
  friend class Inbox;
  InboxReading(Store& store, InboxGaps& gaps, Presence& presence, const Principal& caller, WorkspaceId workspace,
               const InboxQuery& query)
      : store_(store),
        presence_(presence),
        workspace_(workspace),
        query_(query),
        acks_(query.ascends() && caller.is_agent_of(workspace)),
        search_(store, gaps, workspace, query) {}

  Store& store_;
  Presence& presence_;
  const WorkspaceId workspace_;
  const InboxQuery query_;
  bool acks_;  // once
  InboxSearch search_;
};

class Inbox {
 public:
  Inbox(Store& store, Presence& presence, EventBus& event_bus, const Clock& clock)
      : store_(store), presence_(presence), event_bus_(event_bus), clock_(clock) {}

  // workspace_not_found, workspace_removed.
  Result<void> check(WorkspaceId workspace);
  // A client starts to read. If it is the workspace's own agent, that is a sign of life, and the agent counts as
  // polling as long as the returned value exists. For other callers the value is null. Errors as in check().
  Result<std::shared_ptr<const void>> begin_read(const Principal& caller, WorkspaceId workspace);
  // One page, in steps. The limit is clamped to 1 … 500; 0 and less mean the default of 100.
  std::shared_ptr<InboxReading> reading(const Principal& caller, WorkspaceId workspace, InboxQuery query);
  // All steps at once.
  Result<std::vector<InboxRow>> read(const Principal& caller, WorkspaceId workspace, const InboxQuery& query);
  // The database may be another one, with the same numbers for other rows.
  void forget_gaps() { gaps_.forget(); }
  // Messages from people and other agents that an agent in poll mode has not read yet. Counts one page only: 500 means
  // 500 or more.
  std::int64_t waiting_messages(WorkspaceId workspace);
  // For the rows of one page.
  PeerInfo peer_info(const Principal& caller) { return {store_, caller, clock_.now()}; }
  // A row that the agent writes itself; may_be_appended() tests its type.
  Commit<Result<Appended>> append_own_row(WorkspaceId workspace, const NewInboxRow& row,
                                          OptionalClaim<Appended> claim = {});
  // All rows up to `seq` were handled and may be pruned by age. Moves only forward; returns the acked seq.
  Commit<Result<std::int64_t>> ack(WorkspaceId workspace, std::int64_t seq) { return store_.ack_inbox(workspace, seq); }

 private:
  Store& store_;
  Presence& presence_;
  EventBus& event_bus_;
  const Clock& clock_;
  InboxGaps gaps_;
};

// The types of rows an agent may append; only the server appends the others.
bool may_be_appended(std::string_view activity_type);

}  // namespace restante::desk
