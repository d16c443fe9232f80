// /admin/blobs/check: a check of all stored files, started by the operator and done in the background.
#pragma once
#include "api/context.h"
#include "http/request.h"
#include "http/response.h"

namespace restante::api {

http::Response start_blob_check(const Context&, http::Request&);
http::Response read_blob_check(const Context&, http::Request&);

}  // namespace restante::api
