// What the handlers of uploads share: the body of an upload, which is staged on the server or passed on to a push
// workspace's callback while it arrives, and a stored file as JSON.
#pragma once
#include "api/context.h"
#include "base/json_writer.h"
#include "http/body_sink.h"
#include "http/request.h"

namespace restante::api {

// Takes the multipart body while it arrives: parser → staging, nothing is buffered. Under an Idempotency-Key a repeated
// upload gets the answer of the first one, and its content is dropped.
http::BodyHandling stage_uploads(const Context& context, const http::Request& request, WorkspaceId workspace,
                                 UploadDirection direction);

// An upload to a push workspace: passed on to {url}/internal/chat/uploads/ingest, with the inbound secret; the
// callback's answer is passed back. An upload that the callback has not received can be sent again or, if the operator
// has set it so, is staged as for a poll workspace. The request must outlive the returned value. Answered from the
// head: no_callback and callback_missing without a url, malformed_multipart, no_inbound_secret, callback_unreachable
// while calls are paused or when the url may not be called.
http::BodyHandling push_upload(const Context& context, const http::Request& request,
                               const Workspace& target);  // upload_push.cpp

// Writes the members that describe a file into an open object. Pure.
void write_upload(JsonWriter& out, const Upload& upload, UploadState state);  // pending_uploads.cpp

}  // namespace restante::api
