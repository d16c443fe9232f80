#include "model/upload.h"

namespace restante {

std::string_view sentence_of(UploadDamage damage) {
  return damage == UploadDamage::changed ? "the server's copy of this file was damaged; it has to be sent again"
                                         : "the server's copy of this file is missing; it has to be sent again";
}

std::string pending_uri(WorkspaceId workspace, FileId file) {
  return std::string(kPendingScheme) + workspace.text() + "/" + file.text();
}

std::optional<FileId> file_of(std::string_view uri, WorkspaceId workspace) {
  if (!uri.starts_with(kPendingScheme)) return std::nullopt;
  uri.remove_prefix(kPendingScheme.size());
  const auto slash = uri.find('/');
  if (slash == std::string_view::npos || WorkspaceId::parse(uri.substr(0, slash)) != workspace) return std::nullopt;
  return FileId::parse(uri.substr(slash + 1));
}

}  // namespace restante
