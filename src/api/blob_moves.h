// /admin/blobs: where files are stored, and blob moves from one place to another.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response read_blobs(const Context&, http::Request&);
http::Response begin_blob_move(const Context&, http::Request&);
http::Response finish_blob_move(const Context&, http::Request&);

}  // namespace restante::api
