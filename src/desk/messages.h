// Messages: A2A messages as agents and pages send them, brought into one form before they are stored.
#pragma once
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "desk/event_bus.h"
#include "model/principal.h"
#include "store/store.h"

namespace restante::desk {

struct Envelope {
  Json json;               // the whole JSON-RPC request
  std::string message_id;  // the client's, or made
};

// A bare {method, params} is wrapped; messageId and role are filled; a part's `type` becomes `kind`; v0.2 `content`
// becomes `parts`. bad_field when it is no message/send or has neither parts nor content.
Result<Envelope> normalise_message(Json request, Time now);

// The inbox row of a message: the source is the calling agent's workspace, or nobody for people. Where a callback was
// asked, what came of it goes into the row: a2a_send when it has the message, else the reason why it is in the inbox.
NewInboxRow message_row(const Principal& caller, WorkspaceId target, const Envelope& envelope, std::string traceparent);

// What the agent says to its people. `parts` are the attachments as A2A file parts, may be empty.
NewInboxRow notify_row(WorkspaceId workspace, const std::string& text, const Json::Array& parts);

// Puts rows of the functions above into a workspace's log. Told and logged once they are durable; of a message that was
// there already nothing is told.
class Messages {
 public:
  Messages(Store& store, EventBus& event_bus, const Clock& clock, Log& log)
      : store_(store), event_bus_(event_bus), clock_(clock), log_(log) {}

  Commit<Result<Appended>> post(WorkspaceId workspace, const NewInboxRow& row);
  // The same under a claim.
  Commit<Result<Claimed<Appended>>> post_once(WorkspaceId workspace, const NewInboxRow& row, const Claim& claim,
                                              Render<Appended> render);
  // For who appends such a row together with something else: what is told and logged once that is durable.
  void announce(WorkspaceId workspace, const NewInboxRow& row, const Appended& at);

 private:
  Store& store_;
  EventBus& event_bus_;
  const Clock& clock_;
  Log& log_;
};

}  // namespace restante::desk
