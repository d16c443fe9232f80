// Uploads to a push workspace: passed straight on to {url}/internal/chat/uploads/ingest as they come, with the inbound
// secret, and the callback's answer passed back. What the callback has not seen can be sent again, or, where the
// operator wants it, is staged as for a poll workspace.
#pragma once
#include "api/context.h"
#include "http/body_sink.h"
#include "http/request.h"

namespace restante::api {

// The request must outlive what is returned. Answered from its head: no_callback and callback_missing without a url,
// malformed_multipart, no_inbound_secret, callback_unreachable for one that is being spared or may not be called.
http::BodyHandling push_upload(const Context& context, const http::Request& request, const Workspace& target);

}  // namespace restante::api
