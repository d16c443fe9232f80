// /registry: agents register, send heartbeats, and find the agents they may talk to.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response register_agent(const Context&, http::Request&);
http::Response heartbeat(const Context&, http::Request&);
http::Response list_peers(const Context&, http::Request&);
http::Response discover(const Context&, http::Request&);
http::Response check_access(const Context&, http::Request&);

}  // namespace restante::api
