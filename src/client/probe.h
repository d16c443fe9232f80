// Probe: the steps to a server one by one (name, connection, TLS), so that a person learns which of them fails.
// Blocking, each within the options' connect_patience; keeps nothing open.
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

// Calls `tell` for each step as it ends; false when one failed, and then none follows. Through a proxy the server's own
// name and TLS are the proxy's and the first request's business.
bool probe(const Url& server, const HttpOptions& options, const std::function<void(const ProbeStep&)>& on_step);

}  // namespace restante::client
