// Look-ups: from a host name to its addresses. The system's resolver blocks and cannot be interrupted, so each look-up
// has its own thread, which continues alone when the time is up. A name server that does not answer does not delay
// look-ups of other names. At most 64 threads run at once; beyond that new look-ups fail at once. Thread-safe, never
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
  std::vector<boost::asio::ip::address> found;  // not empty when found; a literal address is its own result
};

using LookUp = std::function<boost::asio::awaitable<Addresses>(const std::string& host,
                                                               std::chrono::steady_clock::time_point until)>;
boost::asio::awaitable<Addresses> look_up(const std::string& host, std::chrono::steady_clock::time_point until);

// For a thread that may block. At most four block at once, others get too_slow: slow names must not occupy the pool.
Addresses look_up_now(const std::string& host, std::chrono::milliseconds timeout);

}  // namespace restante::net
