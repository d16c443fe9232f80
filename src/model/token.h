// Tokens. A token is 32 random bytes, shown once as 43 characters of base64url. The database has its SHA-256, a prefix
// to recognise it by, and its owner. Values only.
#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/names.h"
#include "model/ids.h"

namespace restante {

enum class TokenKind { admin, workspace, sender, enrolment, session };
inline constexpr Names<TokenKind, TokenKind::session> kTokenKinds{"admin", "workspace", "sender", "enrolment",
                                                                  "session"};
constexpr std::string_view name_of(TokenKind kind) { return kTokenKinds.of(kind); }
constexpr std::optional<TokenKind> parse_token_kind(std::string_view text) { return kTokenKinds.parse(text); }

struct Token {
  TokenId id;
  TokenKind kind = TokenKind::workspace;
  std::optional<WorkspaceId> workspace_id;  // none: admin, or an enrolment that creates its workspace
  std::string prefix;                       // first 8 characters
  std::string label;
  Time created_at;
  std::optional<Time> last_used_at;
  std::optional<Time> expires_at;
  std::optional<Time> revoked_at;
  std::optional<TokenId> opened_by;  // of a session: the token it was opened with; none: the operator's

  bool live(Time now) const { return !revoked_at && (!expires_at || now < *expires_at); }
};

struct NewToken {
  TokenKind kind = TokenKind::workspace;
  std::optional<WorkspaceId> workspace_id;
  Digest hash{};
  std::string prefix;
  std::string label;
  std::optional<Time> expires_at;
  std::optional<TokenId> opened_by{};  // the new token ends when this one does
};

// A token has so many live sessions at most; one more ends the oldest of the others.
inline constexpr int kMostSessions = 20;
// So long after its end the row of a token or session is deleted.
inline constexpr auto kDeadTokensStay = std::chrono::hours(30 * 24);

// The secret and what is stored of it. The secret goes to its owner and nowhere else.
struct FreshToken {
  std::string secret;
  Digest hash;
  std::string prefix;
};

FreshToken make_token();
FreshToken describe_token(std::string secret);
// 43 characters of the base64url alphabet.
bool looks_like_token(std::string_view text);

}  // namespace restante
