// UpstreamRequest: one request to another server, from the look-up of its host to the end of its reply. Every address
// is checked with may_connect, and only a checked one is connected to; TLS is verified; redirects are not followed. The
// body may come in pieces. The reply may come before the end of the body: it is read from the head on. Any failure ends
// the request, and the result contains it. Belongs to one I/O thread; its maker and its own pending read keep it alive.
// Throws only std::bad_alloc. forward() and run_background_call() use it.
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
  // How slowly the other side may read: no longer than `stall` without progress, and after that at least `min_rate`
  // bytes a second.
  struct Pace {
    std::chrono::milliseconds stall{std::chrono::hours(24)};
    std::uint64_t min_rate = 0;
  };

  // The order must outlive open() and begin().
  UpstreamRequest(asio::any_io_executor executor, const http::Forward& order, Pace pace);

  // Sets the deadline of the whole request.
  void allow_until(SteadyTime until);
  // False when there is no connection; the outcome is then in the result.
  asio::awaitable<bool> open(const LookUp& names);
  // Sends the head and begins to read the reply; without a length the body is chunked. `on_end` is called once, when
  // the reply is complete or can no longer come: code that waits for more of the body can then stop.
  asio::awaitable<void> begin(std::optional<std::uint64_t> length, std::function<void()> on_end);
  // False when it is of no use to send more; the reply may have arrived anyway.
  asio::awaitable<bool> send(std::string_view bytes);
  asio::awaitable<bool> finish_body();
  // Waits for the end: the reply, or the failure.
  asio::awaitable<void> reply();

  bool ended() const { return ended_; }
  // Cuts the request unless it has ended before; the outcome is then `cut`. on_end is no longer called.
  void close();
  // The result; the reply's body is moved out.
  http::Forwarded take_result();

 private:
  using ErrorCode = boost::system::error_code;
  using tcp = asio::ip::tcp;

  asio::awaitable<std::vector<tcp::endpoint>> checked_endpoints(const LookUp& names);
  asio::awaitable<bool> tls_handshake();
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
  asio::steady_timer end_;  // never expires; cancelled when the request has ended
  SteadyTime until_ = SteadyTime::max();
  SteadyTime deadline_ = SteadyTime::max();
  bool watching_ = false;
  bool late_ = false;
  bool chunked_ = false;
  bool ended_ = false;
  std::uint64_t written_ = 0;
  std::chrono::steady_clock::duration writing_{0};  // how long we have waited for the other side
  std::function<void()> on_end_;
  http::Forwarded result_;
};

// Calls another server once for a response: look-up, connection, request and reply, all within one timeout. Runs on the
// caller's I/O thread without blocking it. A failure is in the outcome.
asio::awaitable<http::Forwarded> forward(const http::Forward& order);
// The same with another look-up of names: tests cannot use real name servers.
asio::awaitable<http::Forwarded> forward(const http::Forward& order, const LookUp& names);

struct Shared;

// A background call: a call of another server for which no client waits. The order's `then` gets the result, on the
// pool. If `then` throws or its commit fails, it gets the same result again after a pause: the answer of the other
// server must not be lost because the store was unreachable for a moment. The response that it makes is dropped. Ends
// early when the edge drains.
asio::awaitable<void> run_background_call(Shared& shared, std::shared_ptr<http::Forward> order);

}  // namespace restante::net
