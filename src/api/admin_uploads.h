// /admin/uploads, /admin/uploads/stats and /admin/sweep: lists and figures of the stored files, and a sweep on command.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response list_all_uploads(const Context&, http::Request&);
http::Response upload_figures(const Context&, http::Request&);
http::Response sweep_now(const Context&, http::Request&);

}  // namespace restante::api
