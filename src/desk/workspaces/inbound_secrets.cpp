#include "desk/workspaces/inbound_secrets.h"

#include "model/token.h"

namespace restante::desk {

std::string InboundSecrets::find(WorkspaceId workspace) {
  return open(workspace, store_.find_inbound_secret(workspace));
}

NewInboundSecret InboundSecrets::prepare(WorkspaceId workspace) {
  NewInboundSecret made{seal_.close(make_token().secret, workspace.text()), store_.find_inbound_secret(workspace)};
  if (!open(workspace, made.replaces).empty()) made.replaces.clear();
  return made;
}

std::string InboundSecrets::open(WorkspaceId workspace, std::string_view sealed) {
  if (sealed.empty()) return {};
  auto secret = seal_.open(sealed, workspace.text());
  if (secret) return std::move(*secret);
  log_.warn("inbound_secret_unreadable", {{"workspace_id", workspace.text()}});
  return {};
}

Result<std::string> InboundSecrets::ensure(WorkspaceId workspace) {
  std::string known = find(workspace);
  if (!known.empty()) return known;
  const NewInboundSecret made = prepare(workspace);
  const auto stored = store_.ensure_inbound_secret(workspace, made, clock_.now()).take();
  if (!stored) return stored.error();
  if (*stored == made.sealed) log_.info("inbound_secret_made", {{"workspace_id", workspace.text()}});
  known = open(workspace, *stored);
  // Another server with another key has stored one meanwhile.
  return known.empty() ? rotate(workspace) : Result<std::string>(std::move(known));
}

Result<std::string> InboundSecrets::rotate(WorkspaceId workspace) {
  std::string secret = make_token().secret;
  const auto kept = store_.set_inbound_secret(workspace, seal_.close(secret, workspace.text()), clock_.now()).take();
  if (!kept) return kept.error();
  log_.info("inbound_secret_made", {{"workspace_id", workspace.text()}});
  return secret;
}

}  // namespace restante::desk
