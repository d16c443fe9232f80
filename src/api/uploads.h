// /workspaces/:id/chat/uploads: files in, for the agent, or with direction=out from it.
#pragma once
#include "api/context.h"
#include "http/body_sink.h"
#include "http/request.h"

namespace restante::api {

http::BodyHandling receive_uploads(const Context&, http::Request&);
http::Response upload_limits(const Context&, http::Request&);

// Takes the multipart body as it comes: parser → staging, nothing is held. Under an Idempotency-Key a repeated upload
// is answered as the first was, and its bytes are dropped.
http::BodyHandling stage_uploads(const Context& context, const http::Request& request, WorkspaceId workspace,
                                 UploadDirection direction);

}  // namespace restante::api
