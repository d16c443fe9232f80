#include "model/workspace_rules.h"

namespace restante {

Workspace made_of(const NewWorkspace& workspace, Time now) {
  Workspace made;
  made.id = workspace.id ? *workspace.id : WorkspaceId::make(now);
  made.name = workspace.name;
  made.role = workspace.role;
  made.parent_id = workspace.parent_id;
  made.delivery_mode = workspace.delivery_mode;
  made.url = workspace.url;
  made.created_at = made.updated_at = now;
  return made;
}

Token made_of(const NewToken& token, Time now) {
  Token made;
  made.id = TokenId::make(now);
  made.kind = token.kind;
  made.workspace_id = token.workspace_id;
  made.prefix = token.prefix;
  made.label = token.label;
  made.created_at = now;
  made.expires_at = token.expires_at;
  made.opened_by = token.opened_by;
  return made;
}

WorkspaceStatus seen(WorkspaceStatus status) {
  return status == WorkspaceStatus::degraded ? status : WorkspaceStatus::online;
}

std::optional<WorkspaceStatus> rated_status(std::optional<double> error_rate) {
  if (error_rate && *error_rate >= 0.5) return WorkspaceStatus::degraded;
  if (error_rate && *error_rate < 0.1) return WorkspaceStatus::online;
  return std::nullopt;
}

void take_over(Workspace& workspace, const CheckedRegistration& registration, Time now) {
  workspace.delivery_mode = registration.delivery_mode;
  workspace.mode_is_set = true;
  workspace.url = registration.url;
  if (!registration.agent_card.empty()) workspace.agent_card = registration.agent_card;
  workspace.status = seen(workspace.status);
  workspace.last_heartbeat_at = now;
  workspace.updated_at = now;
}

void apply(Workspace& workspace, const WorkspacePatch& patch, Time now) {
  if (patch.name) workspace.name = *patch.name;
  if (patch.role) workspace.role = *patch.role;
  if (patch.url) workspace.url = *patch.url;
  if (patch.agent_card) workspace.agent_card = *patch.agent_card;
  if (patch.parent_id) workspace.parent_id = *patch.parent_id;
  if (patch.delivery_mode) workspace.delivery_mode = *patch.delivery_mode;
  workspace.updated_at = now;
}

bool may_redeem(const std::optional<Token>& enrolment, const NewToken& token, Time now) {
  return enrolment && enrolment->kind == TokenKind::enrolment && enrolment->live(now) &&
         (!enrolment->workspace_id || enrolment->workspace_id == token.workspace_id);
}

}  // namespace restante
