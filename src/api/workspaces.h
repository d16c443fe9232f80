// The address of this server, for the lines that people paste.
#pragma once
#include "api/context.h"
#include "http/request.h"

namespace restante::api {

// public_url, or the address that the client used: on a new machine the line to paste works without changes.
std::string platform_url(const Context& context, const http::Request& request);

}  // namespace restante::api
