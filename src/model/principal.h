// Principal: who asks, as far as a token tells. Values only.
#pragma once
#include <cstdint>
#include <optional>

#include "model/token.h"

namespace restante {

struct Principal {
  enum class Role { admin, workspace, sender, enrolment, anonymous };
  Role role = Role::workspace;
  std::optional<WorkspaceId> workspace_id;  // none: admin, or an enrolment that creates its workspace
  std::optional<TokenId> token_id;          // none: the admin token, which lives in a file
  bool by_session = false;                  // the page's cookie: Host and Origin count
  std::uint64_t admin_generation = 0;       // of the admin token: how often it had been replaced before
  std::optional<TokenId> opened_by{};       // of a session: the token it was opened with

  // The token that makes somebody this person, however they are signed in.
  std::optional<TokenId> own_token() const { return opened_by ? opened_by : token_id; }
  bool is_admin() const { return role == Role::admin; }
  bool is_agent_of(WorkspaceId id) const { return role == Role::workspace && workspace_id == id; }
  // Of a workspace's log only is_chat() rows are for this one.
  bool sees_chat_only() const { return role == Role::sender; }
  // One of the people who may use this workspace's chat.
  bool is_person_of(WorkspaceId id) const { return is_admin() || (role == Role::sender && workspace_id == id); }
};

}  // namespace restante
