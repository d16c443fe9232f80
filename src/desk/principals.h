// Principals: from a presented secret to who asks. Nothing fails open: an unknown, revoked or expired secret is
// invalid_token, a store that cannot be asked throws Unavailable. Thread-safe.
#pragma once
#include <chrono>
#include <mutex>
#include <string_view>

#include "base/clock.h"
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
  Principals(Store& store, const Clock& clock, Digest admin) : store_(store), clock_(clock), admin_(admin) {}

  // For a bearer token. A session's secret is no bearer.
  Result<Principal> by_token(std::string_view secret);
  // For the page's cookie.
  Result<Principal> by_session(std::string_view secret);
  // Asked again while something is held open: has the token been revoked or expired meanwhile?
  bool still_live(const Principal& principal);
  // Signs a person in with an admin or sender token; not_allowed for the agents' tokens.
  Result<Session> open_session(std::string_view secret);
  void close_session(const Principal& principal);
  // The operator's token is another one from now on; sessions that were opened with the old one end.
  void replace_admin(const Digest& admin);

 private:
  // Which of the admin tokens in turn this is; nothing unless it is the present one.
  std::optional<std::uint64_t> admin_turn(const Digest& hash) const;

  Store& store_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // a rotation on one thread, look-ups on all of them
  Digest admin_;              // under mutex_
  std::uint64_t turn_ = 0;    // under mutex_
};

}  // namespace restante::desk
