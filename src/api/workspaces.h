// /workspaces and /registry: creating workspaces, agents registering and beating.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response create_workspace(const Context&, http::Request&);
http::Response list_workspaces(const Context&, http::Request&);
http::Response read_workspace(const Context&, http::Request&);
http::Response add_workspace_token(const Context&, http::Request&);
http::Response register_agent(const Context&, http::Request&);
http::Response heartbeat(const Context&, http::Request&);

}  // namespace restante::api
