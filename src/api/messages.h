// /workspaces/:id/a2a and /notify: messages to an agent, and from it to its people.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response send_message(const Context&, http::Request&);
http::Response notify(const Context&, http::Request&);

}  // namespace restante::api
