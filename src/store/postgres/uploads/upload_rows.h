// Reads rows of uploads from an answer of PostgreSQL.
#pragma once
#include "model/upload.h"
#include "store/postgres/connections/connection.h"

namespace restante::postgres {

bool has_upload_tables(Connection& connection);

// "SELECT …", to be read with upload_of(), and the same with " FROM pending_uploads ".
inline const std::string kUploadColumns =
    "SELECT file_id, filename, mimetype, size_bytes, sha256, blob_key, workspace_id, direction, staged_by, source_id, "
    "created_at, expires_at, fetched_at, acked_at, failed_at, reason, damage, twin_key";
inline const std::string kSelectUploads = kUploadColumns + " FROM pending_uploads ";
constexpr int kUploadColumnCount = 18;
// Without the content.
Upload upload_of(const Row& row);

}  // namespace restante::postgres
