// /workspaces/:id/chat/uploads: files for the agent, or with direction=out from it.
#pragma once
#include "api/context.h"
#include "http/body_sink.h"
#include "http/request.h"

namespace restante::api {

http::BodyHandling receive_uploads(const Context&, http::Request&);
http::Response upload_limits(const Context&, http::Request&);

// Takes the multipart body while it arrives: parser → staging, nothing is buffered. Under an Idempotency-Key a repeated
// upload gets the answer of the first one, and its content is dropped.
http::BodyHandling stage_uploads(const Context& context, const http::Request& request, WorkspaceId workspace,
                                 UploadDirection direction);

}  // namespace restante::api
