// Errand: a call of another server that no client waits for. The answer is handed to the order's `then`, on the pool,
// and to it again after a pause when it throws or its commit fails: what the other server said must not be lost because
// the store was away for a moment. The response it makes is heard by nobody. Ends early when the edge drains.
#pragma once
#include <memory>

#include <boost/asio.hpp>

#include "http/response.h"
#include "net/shared.h"

namespace restante::net {

boost::asio::awaitable<void> run_background_call(Shared& shared, std::shared_ptr<http::Forward> order);

}  // namespace restante::net
