// /workspaces/:id/pending-uploads: the hand-over of files to the agent, and their state.
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

// Writes the members that describe a file into an open object.
void write_upload(JsonWriter& out, const Upload& upload, UploadState state);

}  // namespace restante::api
