// Url: the http or https address of a server or a proxy, split into its parts. Parsing is strict: no other scheme, no
// query, no fragment, no control character, a host of plausible characters. A value; pure functions.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "client/failure.h"

namespace restante::client {

struct Url {
  bool tls = false;
  std::string host;  // lower case, an IPv6 address without its brackets
  std::uint16_t port = 80;
  std::string path;       // empty, or begins with '/' and does not end with one
  std::string user_info;  // decoded "user:password"; only a proxy's address may have one

  // Host, with brackets where needed, and the port unless it is the scheme's default.
  std::string authority() const;
  // Always with the port, as CONNECT needs it.
  std::string host_and_port() const;
  // Without user_info, so that it may be shown.
  std::string text() const;
};

// The address of a server. Failure::Kind::bad_url with a sentence that names the mistake.
Outcome<Url> parse_url(std::string_view text);

// The address of a proxy: user_info is allowed, the path is dropped, and a missing scheme means http.
Outcome<Url> parse_proxy_url(std::string_view text);

}  // namespace restante::client
