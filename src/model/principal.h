// Principal: who makes a request, as its token shows. Values only.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "model/token.h"

namespace restante {

struct Principal {
  enum class Role { admin, workspace, sender, enrolment, anonymous };
  Role role = Role::workspace;
  std::optional<WorkspaceId> workspace_id;  // none: admin, or an enrolment that creates its workspace
  std::optional<TokenId> token_id;          // none: the operator's token, which is in a file
  bool by_session = false;                  // signed in with the page's cookie: Host and Origin are checked
  std::uint64_t admin_generation = 0;       // of the operator's token: how often it had been replaced
  std::optional<TokenId> opened_by{};       // of a session: the token it was opened with

  // The token that identifies this person, with or without a session.
  std::optional<TokenId> own_token() const { return opened_by ? opened_by : token_id; }
  // Held requests and streams count against this owner's limit: a token with all its sessions, or the operator's.
  std::string limit_owner() const {
    const auto counted = by_session ? opened_by : token_id;
    return counted ? counted->text() : std::string("admin");
  }
  bool is_admin() const { return role == Role::admin; }
  bool is_agent_of(WorkspaceId id) const { return role == Role::workspace && workspace_id == id; }
  // Whether this principal may read only the is_chat() rows of a workspace's inbox.
  bool sees_chat_only() const { return role == Role::sender; }
  // Whether this is one of the people who may use this workspace's chat.
  bool is_person_of(WorkspaceId id) const { return is_admin() || (role == Role::sender && workspace_id == id); }
};

}  // namespace restante
