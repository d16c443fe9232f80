// A stored file as JSON. Pure.
#pragma once
#include "base/json_writer.h"
#include "model/upload.h"

namespace restante::api {

// Writes the members that describe a file into an open object.
void write_upload(JsonWriter& out, const Upload& upload, UploadState state);

}  // namespace restante::api
