#include "client/wire.h"

#include <netdb.h>
#include <sys/socket.h>

#include <boost/asio/ip/address.hpp>
#include <thread>

namespace restante::client {
namespace {
using boost::asio::ip::tcp;

struct Lookup {
  bool done = false;
  std::string error;
  std::vector<tcp::endpoint> endpoints;
};

void look_up(const std::string& host, std::uint16_t port, Lookup& found) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int code = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (code != 0) {
    found.error = gai_strerror(code);
    return;
  }
  for (const addrinfo* entry = list; entry; entry = entry->ai_next) {
    tcp::endpoint endpoint;
    if (entry->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), entry->ai_addr, entry->ai_addrlen);
    endpoint.resize(entry->ai_addrlen);
    endpoint.port(port);
    found.endpoints.push_back(endpoint);
  }
  freeaddrinfo(list);
  if (found.endpoints.empty()) found.error = "no address";
}

}  // namespace

Outcome<std::vector<tcp::endpoint>> resolve(const std::shared_ptr<Loop>& loop, const std::string& host,
                                            std::uint16_t port, Deadline deadline) {
  boost::system::error_code not_an_address;
  const auto address = boost::asio::ip::make_address(host, not_an_address);
  if (!not_an_address) return std::vector{tcp::endpoint(address, port)};

  // The thread owns its result until it passes it to the loop: after a timeout no other thread uses it.
  auto lookup = std::make_shared<Lookup>();
  std::thread([loop, lookup, host, port] {
    look_up(host, port, *lookup);
    boost::asio::post(loop->context(), [lookup] { lookup->done = true; });
  }).detach();
  switch (loop->run_until(lookup->done, deadline)) {
    case Loop::Ended::cancelled:
      return Failure(Failure::Kind::cancelled, "cancelled");
    case Loop::Ended::hung_up:
      return Failure(Failure::Kind::unreachable, "looking up the name " + host + " was given up");
    case Loop::Ended::timeout:
      return Failure(Failure::Kind::unreachable, "looking up the name " + host + " took too long");
    case Loop::Ended::done:
      break;
  }
  if (!lookup->error.empty()) {
    return Failure(Failure::Kind::unreachable, "the name " + host + " cannot be looked up: " + lookup->error);
  }
  return std::move(lookup->endpoints);
}

}  // namespace restante::client
