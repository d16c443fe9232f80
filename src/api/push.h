// Push workspaces: whether a callback URL may be registered, messages forwarded to it with the inbox as fallback, and
// the secret we show there.
#pragma once
#include "api/context.h"
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
// callback cannot take it, or is being spared.
http::Response push_message(const Context& context, const Principal& caller, const Workspace& target,
                            const desk::Envelope& envelope, std::string traceparent);

http::Response rotate_inbound_secret(const Context&, http::Request&);

}  // namespace restante::api
