#include "desk/workspaces/inbound_secrets.h"

#include "model/token.h"

namespace restante::desk {

std::string InboundSecrets::find(WorkspaceId workspace) {
  const std::string sealed = store_.find_inbound_secret(workspace);
  if (sealed.empty()) return {};
  auto secret = seal_.open(sealed, workspace.text());
  if (secret) return std::move(*secret);
  log_.warn("inbound_secret_unreadable", {{"workspace_id", workspace.text()}});
  return {};
}

Result<std::string> InboundSecrets::ensure(WorkspaceId workspace) {
  std::string known = find(workspace);
  if (!known.empty()) return known;
  const MutexLock lock(making_);
  known = find(workspace);
  if (!known.empty()) return known;
  return rotate(workspace);
}

Result<std::string> InboundSecrets::rotate(WorkspaceId workspace) {
  std::string secret = make_token().secret;
  const auto kept = store_.set_inbound_secret(workspace, seal_.close(secret, workspace.text()), clock_.now()).take();
  if (!kept) return kept.error();
  log_.info("inbound_secret_made", {{"workspace_id", workspace.text()}});
  return secret;
}

}  // namespace restante::desk
