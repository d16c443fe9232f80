// Name look-up that can be abandoned. getaddrinfo cannot be interrupted and may hang for half a minute on a laptop that
// has just woken up. So it runs on its own thread, which continues alone after the caller has stopped waiting. Only
// client/*.cpp include this file.
#pragma once
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string>
#include <vector>

#include "client/failure.h"
#include "client/loop.h"

namespace restante::client {

// At least one endpoint, in the system's order of preference.
Outcome<std::vector<boost::asio::ip::tcp::endpoint>> resolve(const std::shared_ptr<Loop>& loop, const std::string& host,
                                                             std::uint16_t port, Deadline deadline);

}  // namespace restante::client
