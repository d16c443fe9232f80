// Forwarder calls another server once for a response: look-up, connection, request and reply, all within one timeout,
// with the guarantees of UpstreamRequest. Runs on the caller's I/O thread without blocking it. A failure is in the
// outcome.
#pragma once
#include <boost/asio.hpp>

#include "http/response.h"
#include "net/lookup.h"

namespace restante::net {

boost::asio::awaitable<http::Forwarded> forward(const http::Forward& order);

// The same with another look-up of names: tests cannot use real name servers.
boost::asio::awaitable<http::Forwarded> forward(const http::Forward& order, const LookUp& names);

}  // namespace restante::net
