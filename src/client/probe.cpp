#include "client/probe.h"

#include <fmt/format.h>

#include "client/trust.h"
#include "client/wire.h"

namespace restante::client {
namespace {

Deadline deadline_of(const HttpOptions& options) { return std::chrono::steady_clock::now() + options.connect_patience; }

}  // namespace

bool probe(const Url& server, const HttpOptions& options, const std::function<void(const ProbeStep&)>& on_step) {
  const auto failed = [&](const char* step, const Failure& failure) {
    on_step({step, false, failure.sentence});
    return false;
  };
  const auto proxy = choose_proxy(server, options.environment);
  if (proxy.has_error()) return failed("proxy", proxy.error());
  if (*proxy) on_step({"proxy", true, "through " + (*proxy)->host_and_port() + ", as set in the environment"});
  const Url& peer = *proxy ? **proxy : server;

  const auto loop = std::make_shared<Loop>();
  const auto found = resolve(loop, peer.host, peer.port, deadline_of(options));
  if (found.has_error()) return failed("name", found.error());
  on_step({"name", true, fmt::format("{} is {}", peer.host, found->front().address().to_string())});

  Wire wire(loop);
  const auto connected = wire.connect(peer, deadline_of(options));
  if (connected.has_error()) return failed("connection", connected.error());
  on_step({"connection", true, "to " + peer.host_and_port()});

  if (!server.tls || *proxy) return true;
  const auto trust = make_trust(options.ca_file);
  if (trust.has_error()) return failed("tls", trust.error());
  const auto secured = wire.start_tls(*trust, server, deadline_of(options));
  if (secured.has_error()) return failed("tls", secured.error());
  on_step({"tls", true, "the certificate is valid for " + server.host});
  return true;
}

}  // namespace restante::client
