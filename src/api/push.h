// Push workspaces: whether a callback URL may be registered, messages forwarded to it with the inbox as fallback, and
// the secret that is sent to it.
#pragma once
#include "api/context.h"
#include "api/idempotency.h"
#include "desk/inbox/messages.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

// Checks a new url of a push workspace. callback_refused with a sentence when this server does not call such a URL, its
// name does not resolve, or any of its addresses is not public. An empty url and those of poll workspaces are not
// checked. Looks the name up: for a pool thread.
Result<void> check_callback(const Context& context, DeliveryMode mode, std::string_view text);

// The secret in the answer to an agent's registration and heartbeats; empty for a poll workspace.
Result<std::string> inbound_secret(const Context& context, const Workspace& workspace);

// Calls the target's callback once and passes its answer on. The message goes to the target's inbox when the callback
// cannot take it, or while calls to it are paused. `row` is desk::message_row's. The answer is stored under the
// request's key together with the row about it. If the server dies between the callback's answer and that commit, a
// repeated request calls the callback again: delivery is at least once, as between any two systems, and the agent
// recognises the repeat by the client's messageId.
http::Response push_message(const Context& context, const IdempotentRequest& idempotent, const Workspace& target,
                            NewInboxRow row);

// One call of the target's callback with this message.
http::Forward callback_request(const Context& context, const Workspace& target, const NewInboxRow& row,
                               std::string secret);

// The outcome of a call that did not deliver. A closed list: it is a metric's label and an error_detail.
std::string_view name_of_outcome(const http::Forwarded& came);
// Whether the agent has the message and answered it: also with "no", but not with "later".
bool was_accepted(const http::Forwarded& came);
// The callback's answer. The callback decides only status, type and body: its answer may be shown in a browser under
// our origin.
http::Response forwarded_answer(http::Forwarded came);

}  // namespace restante::api
