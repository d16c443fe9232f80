// The door of this layer: the whole table of routes, with the guard and the kind of body of each.
#pragma once
#include "api/context.h"
#include "http/router.h"

namespace restante::api {

// The context must outlive the router.
void add_routes(http::Router& router, const Context& context);

// The page: files that were embedded at build time, with a strict policy; one route per file, answered from memory.
// Assets have a hash in their name and may be cached for ever; the document may not. add_routes() adds it, too.
void add_page(http::Router& router, const Context& context);  // page.cpp

}  // namespace restante::api
