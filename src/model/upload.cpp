#include "model/upload.h"

#include <algorithm>
#include <array>

namespace restante {
namespace {

constexpr std::array kStates{UploadState::staged, UploadState::fetched, UploadState::acked,
                             UploadState::failed, UploadState::expired, UploadState::recalled};

}  // namespace

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

std::optional<UploadState> parse_upload_state(std::string_view text) {
  const auto found = std::ranges::find(kStates, text, [](UploadState state) { return name_of(state); });
  return found == kStates.end() ? std::nullopt : std::optional(*found);
}

std::string_view name_of(UploadDirection direction) { return direction == UploadDirection::in ? "in" : "out"; }

std::optional<UploadDirection> parse_upload_direction(std::string_view text) {
  if (text == "in") return UploadDirection::in;
  if (text == "out") return UploadDirection::out;
  return std::nullopt;
}

std::string_view name_of(UploadDamage damage) { return damage == UploadDamage::changed ? "changed" : "missing"; }

std::optional<UploadDamage> parse_upload_damage(std::string_view text) {
  if (text == "changed") return UploadDamage::changed;
  if (text == "missing") return UploadDamage::missing;
  return std::nullopt;
}

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
