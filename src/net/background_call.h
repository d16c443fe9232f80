// Background call: a call of another server for which no client waits. The order's `then` gets the result, on the pool.
// If `then` throws or its commit fails, it gets the same result again after a pause: the answer of the other server
// must not be lost because the store was unreachable for a moment. The response that it makes is dropped. Ends early
// when the edge drains.
#pragma once
#include <memory>

#include <boost/asio.hpp>

#include "http/response.h"
#include "net/shared.h"

namespace restante::net {

boost::asio::awaitable<void> run_background_call(Shared& shared, std::shared_ptr<http::Forward> order);

}  // namespace restante::net
