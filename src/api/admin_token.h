// Replaces the operator's token while the server runs.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response rotate_admin_token(const Context&, http::Request&);

}  // namespace restante::api
