// /workspaces/:id/chat/uploads and /pending-uploads: a file in, and its hand-over to the agent.
#pragma once
#include <memory>

#include "api/context.h"
#include "http/router.h"

namespace restante::api {

// Takes the multipart body as it comes: parser → staging, nothing is held.
std::unique_ptr<http::Intake> receive_uploads(const Context&, http::Request&);
http::Response upload_limits(const Context&, http::Request&);

http::Response list_pending(const Context&, http::Request&);
http::Response read_pending(const Context&, http::Request&);
http::Response pending_content(const Context&, http::Request&);
http::Response ack_pending(const Context&, http::Request&);

}  // namespace restante::api
