// Chooses the proxy for a server from the environment: https_proxy, http_proxy, all_proxy and no_proxy, the lower-case
// name before the upper-case one. Loopback is never proxied. HTTP_PROXY in capitals is ignored under CGI, where a
// client could set it. A pure function of the server's address and a look-up.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "client/url.h"

namespace restante::client {

using Environment = std::function<std::optional<std::string>(const char* name)>;

// The process's own environment.
std::optional<std::string> from_environment(const char* name);

// No value: connect directly. bad_url when the variable that applies is not an http:// address: to ignore a proxy that
// was configured would be worse than not to connect.
Outcome<std::optional<Url>> choose_proxy(const Url& server, const Environment& environment);

// Whether the list in no_proxy contains the server: `*`, a host, a domain (with or without its dot, meaning it and all
// below), an address, an address range as 10.0.0.0/8, each optionally with :port.
bool is_exempt(const Url& server, std::string_view no_proxy);

}  // namespace restante::client
