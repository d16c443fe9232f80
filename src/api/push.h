// Push workspaces: whether a callback URL may be registered, messages forwarded to it with the inbox as fallback, and
// the secret we show there.
#pragma once
#include "api/context.h"
#include "api/idempotency.h"
#include "desk/messages.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

// What is about to be a push workspace's url; without a mode, having one makes it push. callback_refused with a
// sentence when the URL is not one we call, its name does not resolve, or any of its addresses is not public. An empty
// url and those of poll workspaces are nobody's concern. Looks the name up: for a pool thread.
Result<void> check_callback(const Context& context, std::optional<DeliveryMode> mode, std::string_view text);

// What an agent is told with its registration and heartbeats; empty for a poll workspace.
Result<std::string> inbound_secret(const Context& context, const Workspace& workspace);

// Asks the target's callback once and passes its answer on; the message lands in the target's inbox instead when the
// callback cannot take it, or is being spared. `row` is desk::message_row's. The answer is kept under the request's key
// with the row that tells of it. If we die between the callback's answer and that commit, a repeated request asks the
// callback again: at least once, as with any two systems, and the client's messageId tells the agent.
http::Response push_message(const Context& context, const IdempotentRequest& idempotent, const Workspace& target,
                            NewInboxRow row);

// One call of the target's callback with this message.
http::Forward callback_request(const Context& context, const Workspace& target, const NewInboxRow& row,
                               std::string secret);

// How a call went that did not deliver. A closed list: it is a metric's label and an error_detail.
std::string_view name_of_outcome(const http::Forwarded& came);
// The agent has what it was sent and said something about it: also "no", but not "later".
bool was_accepted(const http::Forwarded& came);
// The callback's answer. Nothing but status, type and body is its to decide; what it sends may be shown in a browser of
// our origin.
http::Response forwarded_answer(http::Forwarded came);

http::Response rotate_inbound_secret(const Context&, http::Request&);

}  // namespace restante::api
