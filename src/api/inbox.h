// /workspaces/:id/activity: the agent's inbox, which is also the audit trail, with the long poll.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response read_inbox(const Context&, http::Request&);
http::Response append_own_row(const Context&, http::Request&);
http::Response ack_inbox(const Context&, http::Request&);

}  // namespace restante::api
