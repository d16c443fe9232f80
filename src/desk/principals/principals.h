// Principals finds out who makes a request from the secret it presents. Nothing fails open: an unknown, revoked or
// expired secret is invalid_token, and an unreachable store throws Unavailable. Thread-safe.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bell.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "model/principal.h"
#include "store/tokens.h"

namespace restante::desk {

// When each token was last used, so that people see which ones are still needed. A use is recorded at most once a
// minute, in memory; flush() writes the recorded uses together. Thread-safe.
class TokenUses {
 public:
  TokenUses(TokenStore& store, const Clock& clock) : store_(store), clock_(clock) {}

  void record(TokenId id);
  // Throws Unavailable; uses that could not be written are lost.
  void flush();

 private:
  TokenStore& store_;
  const Clock& clock_;
  Mutex mutex_;  // requests come on all pool threads
  std::unordered_map<TokenId, SteadyTime> recorded_ RESTANTE_GUARDED_BY(mutex_);
  std::vector<std::pair<TokenId, Time>> unwritten_ RESTANTE_GUARDED_BY(mutex_);
};

struct Session {
  std::string secret;  // the cookie's value
  Principal principal;
  std::chrono::seconds lifetime;
};

class Principals {
 public:
  Principals(TokenStore& store, Bell& bell, const Clock& clock, Digest admin)
      : store_(store), bell_(bell), clock_(clock), uses_(store, clock), admin_(admin) {}

  // For a bearer token. A session's secret is not accepted.
  Result<Principal> by_token(std::string_view secret);
  // The workspace whose agent this token belonged to, until it was revoked. None for any other secret.
  std::optional<WorkspaceId> former_agent(std::string_view secret);
  // For the page's cookie.
  Result<Principal> by_session(std::string_view secret);
  // Called again for held requests and streams: false once the token is revoked or expired.
  bool still_live(const Principal& principal);
  // Signs a person in with the operator's or a sender's token; not_allowed for agents' tokens. The session ends with
  // its token. A token has kMostSessions at most: one more ends the oldest, and the requests that it holds open.
  Result<Session> open_session(std::string_view secret);
  void close_session(const Principal& principal);
  // Replaces the operator's token. Sessions that were opened with the old one end, and so do all requests and streams
  // that these sessions or the old token hold open.
  void replace_admin(const Digest& admin);
  // For servers that share the operator's token. `read_admin` returns its present digest, or none if it cannot be read.
  // It is called whenever the token matters. Call this before the first request.
  void share_admin(std::function<std::optional<Digest>()> read_admin) { read_admin_ = std::move(read_admin); }
  // Ends what the old token holds open here when another server has replaced it; called about every second.
  void check_admin_token();
  // Writes which tokens were used; called every few seconds.
  void flush_uses() { uses_.flush(); }

 private:
  bool set_admin(const Digest& admin);
  // The generation of the operator's token with this digest; none unless it is the present one.
  std::optional<std::uint64_t> admin_generation(const Digest& hash) const;

  TokenStore& store_;
  Bell& bell_;
  const Clock& clock_;
  TokenUses uses_;
  mutable Mutex mutex_;  // one thread replaces the token, all look it up
  Digest admin_ RESTANTE_GUARDED_BY(mutex_);
  std::uint64_t admin_generation_ RESTANTE_GUARDED_BY(mutex_) = 0;
  std::function<std::optional<Digest>()> read_admin_;
};

}  // namespace restante::desk
