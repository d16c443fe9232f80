// A file on its way to an agent. Values only.
#pragma once
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/crypto.h"
#include "model/ids.h"

namespace restante {

constexpr std::int64_t kMaxFileBytes = 26'214'400;  // 25 MiB; the table's CHECK pins it

enum class UploadState { staged, fetched, acked, failed, expired, recalled };

struct NewUpload {
  FileId id;
  std::string name;      // sanitised
  std::string mimetype;  // normalised; may be empty
  std::int64_t size = 0;
  Digest sha256{};
  std::string blob_key;  // where Blobs keeps the bytes
};

struct Upload : NewUpload {
  WorkspaceId workspace_id;
  Time created_at;
  Time expires_at;
  std::optional<Time> fetched_at;
  std::optional<Time> acked_at;

  UploadState state(Time now) const {
    if (acked_at) return UploadState::acked;
    if (now >= expires_at) return UploadState::expired;
    return fetched_at ? UploadState::fetched : UploadState::staged;
  }
};

std::string_view name_of(UploadState state);
// platform-pending:<workspace>/<file>
std::string pending_uri(WorkspaceId workspace, FileId file);

}  // namespace restante
