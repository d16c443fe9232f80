// /admin/series: this server's own figures of the last day, by column, for charts.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response read_series(const Context&, http::Request&);

}  // namespace restante::api
