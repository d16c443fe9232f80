// Live events as Server-Sent Events: of one workspace, with replay from its inbox, and of all workspaces for the
// operator.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response workspace_events(const Context&, http::Request&);
http::Response all_events(const Context&, http::Request&);

}  // namespace restante::api
