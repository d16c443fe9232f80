// Uploads to a push workspace: passed on to {url}/internal/chat/uploads/ingest while they arrive, with the inbound
// secret; the callback's answer is passed back. An upload that the callback has not received can be sent again or, if
// the operator has set it so, is staged as for a poll workspace.
#pragma once
#include "api/context.h"
#include "http/body_sink.h"
#include "http/request.h"

namespace restante::api {

// The request must outlive the returned value. Answered from the head: no_callback and callback_missing without a url,
// malformed_multipart, no_inbound_secret, callback_unreachable while calls are paused or when the url may not be
// called.
http::BodyHandling push_upload(const Context& context, const http::Request& request, const Workspace& target);

}  // namespace restante::api
