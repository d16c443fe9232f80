// Tokens issues and revokes tokens. A secret is returned once, to the client that asked for it. Revoking a token ends
// its held requests and streams within moments. Thread-safe.
#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "base/bell.h"
#include "base/clock.h"
#include "base/log.h"
#include "model/token.h"
#include "store/store.h"

namespace restante::desk {

inline constexpr auto kEnrolmentLifetime = std::chrono::hours(24);

struct IssuedToken {
  std::string secret;
  Token token;
};

class Tokens {
 public:
  Tokens(Store& store, Bell& bell, const Clock& clock, Log& log)
      : store_(store), bell_(bell), clock_(clock), log_(log) {}

  std::vector<Token> list(WorkspaceId workspace) { return store_.list_tokens(workspace); }
  // Enrolments without a workspace: an agent that uses one creates its workspace.
  std::vector<Token> invites();
  // token_not_found if it is absent, is not such an enrolment, or was revoked before.
  Result<void> revoke_invite(TokenId id);
  // A token for a workspace that is not removed. Enrolments are valid for 24 h and need no workspace: they then create
  // one.
  Result<IssuedToken> issue(TokenKind kind, std::optional<WorkspaceId> workspace, std::string label);
  // token_not_found if it is absent, belongs to another workspace, or was revoked before.
  Result<void> revoke(WorkspaceId workspace, TokenId id);
  // For tokens that were revoked together with a workspace.
  void end_held_requests(const std::vector<TokenId>& tokens);

 private:
  Store& store_;
  Bell& bell_;
  const Clock& clock_;
  Log& log_;
};

}  // namespace restante::desk
