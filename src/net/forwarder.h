// Forwarder: asks another server once, on behalf of a response. Looks its host up, checks every address with
// may_connect, connects to a checked one only, sends, reads the reply up to its cap; the look-up included, all within
// one timeout. Redirects are not followed, TLS is verified. Runs on the caller's I/O thread without blocking it. Never
// throws: what went wrong is the outcome.
#pragma once
#include <boost/asio.hpp>

#include "http/response.h"
#include "net/lookup.h"

namespace restante::net {

boost::asio::awaitable<http::Forwarded> forward(const http::Forward& order);

// The same with another way from names to addresses: name servers are not ours, and a test has its own.
boost::asio::awaitable<http::Forwarded> forward(const http::Forward& order, const LookUp& names);

}  // namespace restante::net
