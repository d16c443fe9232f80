// Messages: A2A messages as agents and pages send them, brought into one form before they are stored.
#pragma once
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "desk/news.h"
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

// The inbox row of a message: the source is the calling agent's workspace, or nobody for people.
NewActivity message_row(const Principal& caller, WorkspaceId target, const Envelope& envelope, std::string traceparent);

class Messages {
 public:
  Messages(Store& store, News& news, const Clock& clock, Log& log)
      : store_(store), news_(news), clock_(clock), log_(log) {}

  // Into the target's inbox. The source is the calling agent's workspace, or nobody for people.
  Commit<Result<Appended>> send(const Principal& caller, WorkspaceId target, const Envelope& envelope,
                                std::string traceparent);
  // What came of asking the target's callback, told in a row of message_row: a2a_send when it has the message, else an
  // inbox row with the reason.
  Commit<Result<Appended>> record_push(WorkspaceId target, const NewActivity& row);
  // From the agent to its people. `parts` are the attachments as A2A file parts, may be empty.
  Commit<Result<Appended>> notify(WorkspaceId workspace, const std::string& text, const Json::Array& parts);

 private:
  Commit<Result<Appended>> append(WorkspaceId workspace, const NewActivity& activity);

  Store& store_;
  News& news_;
  const Clock& clock_;
  Log& log_;
};

}  // namespace restante::desk
