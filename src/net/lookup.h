// Look-ups: from a host name to its addresses. The system's resolver blocks and cannot be interrupted, so each look-up
// has a thread of its own that is left behind when time is up: a name server that does not answer delays nobody who
// asks for another name. At most 64 are left behind at once; beyond that new ones fail at once. Thread-safe, never
// throws.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <boost/asio.hpp>

namespace restante::net {

struct Addresses {
  enum class Outcome { found, unknown_name, too_slow };
  Outcome outcome = Outcome::unknown_name;
  std::vector<boost::asio::ip::address> found;  // not empty when found; a literal address is found as itself
};

using LookUp = std::function<boost::asio::awaitable<Addresses>(const std::string& host,
                                                               std::chrono::steady_clock::time_point until)>;
boost::asio::awaitable<Addresses> look_up(const std::string& host, std::chrono::steady_clock::time_point until);

// For a thread that may wait. At most four wait at once, more are told too_slow: slow names must not take up the pool.
Addresses look_up_now(const std::string& host, std::chrono::milliseconds patience);

}  // namespace restante::net
