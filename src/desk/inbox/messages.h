// Messages brings A2A messages of agents and pages into one form and appends them to an inbox.
#pragma once
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "desk/events/event_bus.h"
#include "model/principal.h"
#include "store/inbox.h"

namespace restante::desk {

struct Envelope {
  Json json;                           // the whole JSON-RPC request
  std::string message_id;              // the client's, or made
  std::vector<std::string> ignored{};  // the reserved members that were removed
};

// Wraps a bare {method, params}, fills in messageId and role, renames a part's `type` to `kind` and v0.2 `content` to
// `parts`. Removes what only the server may say: no client can make a message into a task. bad_field when it is no
// message/send or has neither parts nor content.
Result<Envelope> normalise_message(Json request, Time now);

// The inbox row of a message. Its source is the calling agent's workspace, none for people. If a callback was called,
// the caller adds the result to the row: a2a_send if the callback took the message, else why it is in the inbox.
NewInboxRow message_row(const Principal& caller, WorkspaceId target, const Envelope& envelope, std::string traceparent);

// A message from the agent to its people. `parts` are the attachments as A2A file parts, may be empty.
NewInboxRow notify_row(WorkspaceId workspace, const std::string& text, const Json::Array& parts);

// Appends rows of the functions above to a workspace's inbox. They are published and logged once they are durable. A
// message that was in the inbox already is not published again.
class Messages {
 public:
  Messages(InboxStore& store, EventBus& event_bus, const Clock& clock, Log& log)
      : store_(store), event_bus_(event_bus), clock_(clock), log_(log) {}

  Commit<Result<Appended>> post(WorkspaceId workspace, const NewInboxRow& row, OptionalClaim<Appended> claim = {});
  // Publishes and logs a row that was appended together with something else. Call it once the row is durable.
  void announce(WorkspaceId workspace, const NewInboxRow& row, const Appended& at);

 private:
  InboxStore& store_;
  EventBus& event_bus_;
  const Clock& clock_;
  Log& log_;
};

}  // namespace restante::desk
