// Principals: from a presented secret to who asks. Nothing fails open: an unknown, revoked or expired secret is
// invalid_token, a store that cannot be asked throws Unavailable. Thread-safe.
#pragma once
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/bell.h"
#include "base/clock.h"
#include "desk/token_uses.h"
#include "model/principal.h"
#include "store/store.h"

namespace restante::desk {

struct Session {
  std::string secret;  // the cookie's value
  Principal principal;
  std::chrono::seconds lifetime;
};

class Principals {
 public:
  Principals(Store& store, Bell& bell, const Clock& clock, Digest admin)
      : store_(store), bell_(bell), clock_(clock), uses_(store, clock), admin_(admin) {}

  // For a bearer token. A session's secret is no bearer.
  Result<Principal> by_token(std::string_view secret);
  // For the page's cookie.
  Result<Principal> by_session(std::string_view secret);
  // Asked again while something is held open: has the token been revoked or expired meanwhile?
  bool still_live(const Principal& principal);
  // Signs a person in with an admin or sender token; not_allowed for the agents' tokens. The session ends with it.
  Result<Session> open_session(std::string_view secret);
  void close_session(const Principal& principal);
  // The operator's token is another one from now on; sessions that were opened with the old one end, and with them
  // everything they and the token itself hold open.
  void replace_admin(const Digest& admin);
  // For servers that share the operator's token: `look` tells what it is now, or nothing when it cannot tell, and is
  // asked whenever it matters. To be called before anybody asks.
  void share_admin(std::function<std::optional<Digest>()> look) { read_admin_ = std::move(look); }
  // What it holds open here ends when it was replaced elsewhere; called every second or so.
  void check_admin_token();
  // Writes down which tokens were used; called every few seconds.
  void flush_uses() { uses_.flush(); }

 private:
  bool set_admin(const Digest& admin);
  // Which of the admin tokens in turn this is; nothing unless it is the present one.
  std::optional<std::uint64_t> admin_generation(const Digest& hash) const;

  Store& store_;
  Bell& bell_;
  const Clock& clock_;
  TokenUses uses_;
  mutable std::mutex mutex_;            // a rotation on one thread, look-ups on all of them
  Digest admin_;                        // under mutex_
  std::uint64_t admin_generation_ = 0;  // under mutex_
  std::function<std::optional<Digest>()> read_admin_;
};

// The topics that ring when this principal may have ceased to be one: for whatever it holds open.
std::vector<std::string> revocation_topics(const Principal& principal);

}  // namespace restante::desk
