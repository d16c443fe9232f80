// /workspaces/:id/activity: the agent's inbox and the audit log, with the long poll.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response read_activity(const Context&, http::Request&);
http::Response log_activity(const Context&, http::Request&);
http::Response ack_activity(const Context&, http::Request&);

}  // namespace restante::api
