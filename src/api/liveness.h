// /admin/liveness: whether the server's background loops still run.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response liveness(const Context&, http::Request&);

}  // namespace restante::api
