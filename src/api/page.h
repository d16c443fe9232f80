// The page: files that were embedded at build time, with a strict policy. Assets have a hash in their name and may be
// cached for ever; the document may not.
#pragma once
#include "api/context.h"
#include "http/router.h"

namespace restante::api {

// One route per file, answered from memory.
void add_page(http::Router& router, const Context& context);

}  // namespace restante::api
