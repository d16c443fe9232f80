// /workspaces/:id/a2a and /notify: messages to an agent, and from it to its people.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response send_message(const Context&, http::Request&);
// The answer for a message that waits in the inbox, or for why it does not.
http::Response queued_answer(std::string_view delivery_mode, const Result<Appended>& appended);
http::Response notify(const Context&, http::Request&);

}  // namespace restante::api
