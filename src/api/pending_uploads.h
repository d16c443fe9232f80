// /workspaces/:id/pending-uploads: the hand-over of files to the agent, and where they are on their way.
#pragma once
#include "api/context.h"
#include "base/json_writer.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response list_pending(const Context&, http::Request&);
http::Response read_pending(const Context&, http::Request&);
http::Response pending_content(const Context&, http::Request&);
http::Response ack_pending(const Context&, http::Request&);
http::Response fail_pending(const Context&, http::Request&);
http::Response recall_pending(const Context&, http::Request&);

// The members that tell of a file, into an object that is open.
void write_upload(JsonWriter& out, const Upload& upload, UploadState state);

}  // namespace restante::api
