// Principals: from a presented secret to who asks. Nothing fails open: an unknown, revoked or expired secret is
// invalid_token, a store that cannot be asked throws Unavailable. Thread-safe.
#pragma once
#include <chrono>
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
  // Signs a person in with an admin or sender token; not_allowed for the agents' tokens.
  Result<Session> open_session(std::string_view secret);
  void close_session(const Principal& principal);

 private:
  Store& store_;
  const Clock& clock_;
  const Digest admin_;
};

}  // namespace restante::desk
