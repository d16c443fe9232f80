#include "desk/inbox/peer_info.h"

namespace restante::desk {
namespace {

constexpr std::size_t kMaxFiles = 1000;  // twice a full page of rows with one file each
constexpr std::string_view kUnknown = "unknown";

}  // namespace

std::optional<Peer> PeerInfo::peer_of(const InboxRow& row) {
  if (!row.source_id) return std::nullopt;
  const auto [known, fresh] = peers_.try_emplace(*row.source_id);
  if (!fresh) return known->second;
  auto found = store_.find_workspace(*row.source_id);
  if (found && found->status != WorkspaceStatus::removed) known->second = Peer{found->name, found->role};
  return known->second;
}

std::vector<Attachment> PeerInfo::attachments_of(const InboxRow& row) {
  std::vector<FilePart> files;
  if (auto upload = upload_in(row)) files.push_back(std::move(*upload));
  for (MessageContent content : {request_content(row), response_content(row)}) {
    for (FilePart& file : content.files) files.push_back(std::move(file));
  }
  std::vector<Attachment> all;
  for (FilePart& file : files) {
    const std::string_view state = state_of(file.uri, row.workspace_id);
    all.push_back({std::move(file), state});
  }
  return all;
}

std::string_view PeerInfo::state_of(std::string_view uri, WorkspaceId workspace) {
  const auto id = file_of(uri, workspace);
  if (!id) return kUnknown;
  if (const auto known = states_.find(*id); known != states_.end()) return known->second;
  if (states_.size() >= kMaxFiles) return kUnknown;
  const auto upload_status = store_.find_upload_status(workspace, *id, now_);
  const std::string_view state = upload_status ? name_of(upload_status->state) : kUnknown;
  states_.emplace(*id, state);
  return state;
}

}  // namespace restante::desk
