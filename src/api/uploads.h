// The receiving half of /workspaces/:id/chat/uploads: files that are staged on the server.
#pragma once
#include "api/context.h"
#include "http/body_sink.h"
#include "http/request.h"

namespace restante::api {

// Takes the multipart body while it arrives: parser → staging, nothing is buffered. Under an Idempotency-Key a repeated
// upload gets the answer of the first one, and its content is dropped.
http::BodyHandling stage_uploads(const Context& context, const http::Request& request, WorkspaceId workspace,
                                 UploadDirection direction);

}  // namespace restante::api
