// Outlet: one request to another server, from the look-up of its host to the end of its reply. Every address is checked
// with may_connect and only a checked one is connected to; TLS is verified; redirects are not followed. The body may
// come in pieces, and the reply before the body's end: it is listened for from the head on. Whatever fails ends
// everything, and result() says what it was. Lives on one I/O thread, kept alive by whoever made it and by its own
// listening. Functions throw only what running out of memory throws.
#pragma once
#include <array>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>

#include "http/callback_url.h"
#include "http/response.h"
#include "net/lookup.h"

namespace restante::net {

namespace asio = boost::asio;

class UpstreamRequest : public std::enable_shared_from_this<UpstreamRequest> {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;
  // How slowly the other side may read: a standstill of `stall`, and less than `min_rate` bytes a second beyond it.
  struct Pace {
    std::chrono::milliseconds stall{std::chrono::hours(24)};
    std::uint64_t min_rate = 0;
  };

  // The order must outlive open() and begin().
  UpstreamRequest(asio::any_io_executor home, const http::Forward& order, Pace pace);

  // When everything must be over, from now on.
  void allow_until(SteadyTime until);
  // False, with the outcome in result(), when there is no connection.
  asio::awaitable<bool> open(const LookUp& names);
  // Sends the head and begins to listen; without a length the body will be chunked. `on_end` is called once, when the
  // reply is whole or can no longer come: what waits for more of the body need not wait on.
  asio::awaitable<void> begin(std::optional<std::uint64_t> length, std::function<void()> on_end);
  // False when it is of no use to send more; the reply may be there all the same.
  asio::awaitable<bool> send(std::string_view bytes);
  asio::awaitable<bool> finish_body();
  // Waits for the end: the reply, or what kept it from coming.
  asio::awaitable<void> reply();

  bool ended() const { return ended_; }
  // Cuts it off, which is then the outcome, unless it has ended before. on_end is no longer called.
  void close();
  // What has come of it; the reply's body is moved out.
  http::Forwarded take_result();

 private:
  using ErrorCode = boost::system::error_code;
  using tcp = asio::ip::tcp;

  asio::awaitable<std::vector<tcp::endpoint>> checked_endpoints(const LookUp& names);
  asio::awaitable<bool> shake_hands();
  asio::awaitable<bool> write(std::string_view first, std::string_view second, std::string_view third);
  asio::awaitable<void> listen();
  void conclude(std::exception_ptr failure);
  void end();
  http::Forwarded::Outcome failure(http::Forwarded::Outcome otherwise) const;
  void watch(SteadyTime deadline);
  void wait_for_deadline();
  SteadyTime write_deadline(SteadyTime now) const;

  const http::Forward& order_;
  const std::size_t reply_cap_;
  const Pace pace_;
  const SteadyTime started_ = std::chrono::steady_clock::now();
  http::CallbackUrl url_;
  tcp::socket socket_;
  std::unique_ptr<asio::ssl::stream<tcp::socket&>> tls_;
  asio::steady_timer watchdog_;
  asio::steady_timer end_;  // never comes by itself; cancelled when it has ended
  SteadyTime until_ = SteadyTime::max();
  SteadyTime deadline_ = SteadyTime::max();
  bool watching_ = false;
  bool late_ = false;
  bool chunked_ = false;
  bool ended_ = false;
  std::uint64_t written_ = 0;
  std::chrono::steady_clock::duration writing_{0};  // how long the other side has kept us waiting
  std::function<void()> on_end_;
  http::Forwarded result_;
};

}  // namespace restante::net
