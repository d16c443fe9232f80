// /workspaces/:id/chat-history: earlier chat messages, for people who come back.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response chat_history(const Context&, http::Request&);

}  // namespace restante::api
