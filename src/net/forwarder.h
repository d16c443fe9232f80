// Forwarder: asks another server once, on behalf of a response: look-up, connection, request and reply, all within one
// timeout; what an Outlet promises holds. Runs on the caller's I/O thread without blocking it. What went wrong is the
// outcome.
#pragma once
#include <boost/asio.hpp>

#include "http/response.h"
#include "net/lookup.h"

namespace restante::net {

boost::asio::awaitable<http::Forwarded> forward(const http::Forward& order);

// The same with another way from names to addresses: name servers are not ours, and a test has its own.
boost::asio::awaitable<http::Forwarded> forward(const http::Forward& order, const LookUp& names);

}  // namespace restante::net
