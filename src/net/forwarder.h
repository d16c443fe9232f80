// Forwarder: asks another server once, on behalf of a response. Resolves, checks every address with may_connect,
// connects to a checked one only, sends, reads the reply up to its cap, all within one timeout. Redirects are not
// followed, TLS is verified. Never throws: what went wrong is the outcome.
#pragma once
#include <boost/asio.hpp>

#include "http/response.h"

namespace restante::net {

boost::asio::awaitable<http::Forwarded> forward(const http::Forward& order);

}  // namespace restante::net
