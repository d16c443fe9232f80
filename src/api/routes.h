// The whole table of routes, with the guard and the kind of body of each.
#pragma once
#include "api/context.h"
#include "http/router.h"

namespace restante::api {

// The context must outlive the router.
void add_routes(http::Router& router, const Context& context);

}  // namespace restante::api
