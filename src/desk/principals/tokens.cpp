#include "desk/principals/tokens.h"

#include "desk/events/event_bus.h"
#include "model/errors.h"

namespace restante::desk {

Result<IssuedToken> Tokens::issue(TokenKind kind, std::optional<WorkspaceId> workspace, std::string label) {
  if (workspace) {
    const auto known = store_.find_workspace(*workspace);
    if (!known) return known.error();
    if (known->status == WorkspaceStatus::removed) return errors::workspace_removed;
  }
  const Time now = clock_.now();
  FreshToken fresh = make_token();
  NewToken wanted{kind, workspace, fresh.hash, fresh.prefix, std::move(label), {}};
  if (kind == TokenKind::enrolment) wanted.expires_at = now + kEnrolmentLifetime;
  auto added = store_.add_token(wanted, now).take();
  if (!added) return added.error();
  log_.info("token_issued", {{"kind", name_of(kind)},
                             {"token_id", added->id.text()},
                             {"workspace_id", workspace ? workspace->text() : std::string()}});
  return IssuedToken{std::move(fresh.secret), std::move(*added)};
}

std::vector<Token> Tokens::invites() {
  std::vector<Token> found = store_.list_tokens(std::nullopt);
  std::erase_if(found, [](const Token& token) { return token.kind != TokenKind::enrolment; });
  return found;
}

Result<void> Tokens::revoke_invite(TokenId id) {
  const auto token = store_.find_token(id);
  if (!token || token->kind != TokenKind::enrolment || token->workspace_id) return errors::token_not_found;
  const auto revoked = store_.revoke_token(id, clock_.now()).take();
  if (!revoked) return revoked.error();
  if (!*revoked) return errors::token_not_found;
  log_.info("token_revoked", {{"token_id", id.text()}});
  bell_.ring(topic_of(id));
  return {};
}

Result<void> Tokens::revoke(WorkspaceId workspace, TokenId id) {
  const auto revoked = store_.revoke_workspace_token(workspace, id, clock_.now()).take();
  if (!revoked) return revoked.error();
  if (!*revoked) return errors::token_not_found;
  log_.info("token_revoked", {{"token_id", id.text()}, {"workspace_id", workspace.text()}});
  end_held_requests({id});
  return {};
}

void Tokens::end_held_requests(const std::vector<TokenId>& tokens) {
  for (const TokenId& id : tokens) bell_.ring(topic_of(id));
}

}  // namespace restante::desk
