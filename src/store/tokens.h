// TokenStore: tokens of workspaces, senders and sessions. A token is live until it is revoked or expires.
// One of the parts of Store; store/store.h says what holds for all of them.
#pragma once
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/commit.h"
#include "base/crypto.h"
#include "base/error.h"
#include "model/token.h"

namespace restante {

struct OpenedSession {
  Token session;
  std::vector<TokenId> ended;  // older sessions of the same token, because it has at most kMostSessions
};

class TokenStore {
 public:
  virtual ~TokenStore() = default;

  // too_many_tokens beyond 50 live ones of a workspace; invalid_token when `opened_by` names a token that is not live.
  virtual Commit<Result<Token>> add_token(const NewToken& token, Time now) = 0;
  // A session of the token `opened_by`, or of the operator's. invalid_token when `opened_by` is not live.
  virtual Commit<Result<OpenedSession>> open_session(const NewToken& session, Time now) = 0;
  // In any state: the caller checks live(). None when no token has this hash.
  virtual std::optional<Token> find_token(const Digest& hash) = 0;
  virtual std::optional<Token> find_token(TokenId id) = 0;
  // Newest first; those of one workspace, or those that have no workspace.
  virtual std::vector<Token> list_tokens(std::optional<WorkspaceId> workspace) = 0;
  // Also revokes the sessions that it opened. True when it was live until now.
  virtual Commit<Result<bool>> revoke_token(TokenId id, Time now) = 0;
  // The same for a token of this workspace only; a token of another workspace counts as absent.
  virtual Commit<Result<bool>> revoke_workspace_token(WorkspaceId workspace, TokenId id, Time now) = 0;
  // Writes values of last_used_at that were collected in memory.
  virtual Commit<Result<void>> record_token_uses(std::span<const std::pair<TokenId, Time>> uses) = 0;
  virtual bool has_live_token(WorkspaceId workspace, Time now) = 0;
};

}  // namespace restante
