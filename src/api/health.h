// /health, /ready and /metrics, for operators and their tools.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response health(const Context&, http::Request&);
http::Response ready(const Context&, http::Request&);
http::Response metrics_text(const Context&, http::Request&);

}  // namespace restante::api
