// Probe makes the steps to a server one by one (name, connection, TLS), so that a person learns which of them fails.
// Blocking, each step within the options' connect_patience; keeps nothing open.
#pragma once
#include <functional>
#include <string>

#include "client/http_client.h"

namespace restante::client {

struct ProbeStep {
  std::string name;  // proxy, name, connection, tls
  bool passed = false;
  std::string sentence;  // what was found, or what failed
};

// Calls `on_step` for each step when it ends. Returns false when a step failed; no further step follows then. With a
// proxy, the proxy resolves the server's name, and the first request does the TLS handshake.
bool probe(const Url& server, const HttpOptions& options, const std::function<void(const ProbeStep&)>& on_step);

}  // namespace restante::client
