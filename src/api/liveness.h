// /admin/liveness: whether the server's background loops still run. /admin/health: that, and everything else an
// operator needs to know about a server: its stores, versions and effective settings, without secrets.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response liveness(const Context&, http::Request&);
http::Response operator_health(const Context&, http::Request&);

}  // namespace restante::api
