// Tokens: handing them out and taking them back. A secret is given once, to whoever asked for it. Revoking ends what
// the token holds open, within moments. Thread-safe.
#pragma once
#include <string>
#include <vector>

#include "base/bell.h"
#include "base/clock.h"
#include "base/log.h"
#include "model/token.h"
#include "store/store.h"

namespace restante::desk {

struct IssuedToken {
  std::string secret;
  Token token;
};

class Tokens {
 public:
  Tokens(Store& store, Bell& bell, const Clock& clock, Log& log)
      : store_(store), bell_(bell), clock_(clock), log_(log) {}

  std::vector<Token> list(WorkspaceId workspace) { return store_.list_tokens(workspace); }
  // Enrolments that are bound to no workspace: their agents will make their own.
  std::vector<Token> invites();
  // token_not_found when it is absent, no such enrolment, or was revoked before.
  Result<void> revoke_invite(TokenId id);
  // A token of a kind for a workspace that lives. Enrolments are good for 24 h, and may do without a workspace: they
  // then create one.
  Result<IssuedToken> issue(TokenKind kind, std::optional<WorkspaceId> workspace, std::string label);
  // token_not_found when it is absent, another workspace's, or was revoked before.
  Result<void> revoke(WorkspaceId workspace, TokenId id);
  // For tokens that were revoked together with something else.
  void end_held_requests(const std::vector<TokenId>& tokens);

 private:
  Store& store_;
  Bell& bell_;
  const Clock& clock_;
  Log& log_;
};

// The topic that rings when this token is revoked.
std::string topic_of(TokenId id);

}  // namespace restante::desk
