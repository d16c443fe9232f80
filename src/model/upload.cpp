#include "model/upload.h"

namespace restante {

std::string_view name_of(UploadState state) {
  switch (state) {
    case UploadState::staged:
      return "staged";
    case UploadState::fetched:
      return "fetched";
    case UploadState::acked:
      return "acked";
    case UploadState::failed:
      return "failed";
    case UploadState::expired:
      return "expired";
    case UploadState::recalled:
      return "recalled";
  }
  return "staged";
}

std::string pending_uri(WorkspaceId workspace, FileId file) {
  return "platform-pending:" + workspace.text() + "/" + file.text();
}

}  // namespace restante
