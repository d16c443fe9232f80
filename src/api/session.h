// The page's session: a person signs in once with a token and gets a cookie that scripts cannot read.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response sign_in(const Context&, http::Request&);
http::Response who_am_i(const Context&, http::Request&);
http::Response sign_out(const Context&, http::Request&);

}  // namespace restante::api
