// The secrets that a request may present: a bearer token, or the cookie of the page's session. Nothing here is
// verified. Pure; the views live as long as the request.
#pragma once
#include <optional>
#include <string_view>

#include "http/request.h"

namespace restante::http {

inline constexpr std::string_view kSessionCookie = "__Host-restante";

// The secret of an Authorization header with a bearer token.
std::optional<std::string_view> bearer_of(const Request& request);
std::optional<std::string_view> session_cookie(const Request& request);
// The one that counts: a request with an Authorization header is judged by that alone. Empty when there is none.
std::string_view secret_of(const Request& request);

}  // namespace restante::http
