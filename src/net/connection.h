// Connection: one client, from accept to close. Reads requests, finds their route, and performs the responses: exactly
// one per request, in order. Every wait has a deadline, every buffer a bound, and everything a client can cause ends in
// an answer or a closed connection. This is the one place that catches exceptions of handlers. Belongs to one I/O
// thread; keeps itself alive while its coroutine runs.
#pragma once
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/asio.hpp>

#include "http/chunked.h"
#include "http/head_parser.h"
#include "http/router.h"
#include "net/buffer.h"
#include "net/io_thread.h"
#include "net/on_pool.h"
#include "net/socket.h"

namespace restante::net {

class UpstreamRequest;

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;

  Connection(IoThread& thread, tcp::socket socket, std::string peer, std::string key);
  ~Connection();

  void start();
  // Ends operations that have passed their deadline; detects parked clients that have closed the connection.
  void tick(SteadyTime now);
  bool idle() const { return idle_; }
  void drain();
  void abandon();

 private:
  // How a body is framed and how much of it has arrived.
  struct Inflow {
    std::uint64_t limit = 0;
    std::uint64_t received = 0;
    std::optional<std::uint64_t> left;  // sized bodies
    http::ChunkedDecoder chunks;
    bool done = false;
    bool sent_continue = false;
    SteadyTime started{};
    SteadyTime::duration held{0};  // how long the sender waited for us; not counted when its pace is measured
  };
  enum class Received { ok, closed };
  // The result of performing a response.
  struct Sent {
    int status = 0;
    bool whole = false;  // the client has all of it and the connection can serve another request
  };

  // connection.cpp: the loop.
  asio::awaitable<void> run();
  asio::awaitable<bool> serve_one();
  // Answers the requests at the front of `bytes` that need neither a body nor the pool, without suspending; serve_one()
  // handles the rest.
  void serve_now(std::string_view& bytes);
  asio::awaitable<Received> receive_head(http::Request& request, std::optional<http::Fault>& fault);
  http::Response answer_at_once(http::Request& request, const http::Route& route);
  asio::awaitable<http::Response> obtain(http::Request& request, const http::Route& route);
  void identify(http::Request& request);
  // Both set group_: before the guard of the request's route has run, and after it.
  void join_group(const http::Request& request);
  void remember_client(const http::Request& request, bool refused);
  void account(const http::Request& request, const http::Router::Match& match, int status, SteadyTime started);

  // body.cpp: reads the body that follows the head.
  asio::awaitable<std::optional<http::Fault>> read_body(http::Request& request, std::uint64_t limit);
  asio::awaitable<http::Response> stream_body(http::Request& request, const http::Route& route,
                                              std::unique_ptr<http::BodySink>& sink, std::uint64_t limit);
  // relay.cpp: passes the body on to another server, or to a body sink when that server cannot be reached.
  asio::awaitable<http::Response> relay_body(http::Request& request, const http::Route& route, http::Relay& relay,
                                             std::unique_ptr<http::BodySink>& sink, std::uint64_t limit);
  // Returns what was wrong with the body, if anything; every other result is in the upstream request.
  asio::awaitable<std::optional<http::Fault>> exchange(http::Request& request, Inflow& inflow,
                                                       UpstreamRequest& upstream, std::chrono::milliseconds timeout);
  asio::awaitable<std::optional<http::Fault>> pass_on(http::Request& request, Inflow& inflow,
                                                      UpstreamRequest& upstream);
  // Removes an upload that was cut, on the threads for file content, because that may take a while.
  asio::awaitable<void> remove_upload(std::unique_ptr<http::BodySink>& sink);
  std::optional<http::Fault> begin_body(const http::Request& request, Inflow& inflow, std::uint64_t limit);
  // Returns pieces of the body inside `room` or the buffer; both stay untouched until the next call.
  asio::awaitable<std::optional<http::Fault>> next_pieces(http::Request& request, Inflow& inflow, char* room,
                                                          std::size_t size, std::vector<std::string_view>& pieces);
  // Counts `n` more bytes of a sized body.
  static void count_sized(Inflow& inflow, std::size_t n);
  std::optional<http::Fault> decode(Inflow& inflow, std::string_view bytes, std::vector<std::string_view>& pieces);
  bool body_is_buffered(const http::Request& request) const;
  // True when the connection can serve another request: nothing of this request's body is left unread.
  bool discard_buffered_body(const http::Request& request);

  // answer.cpp: sends the answer.
  asio::awaitable<Sent> perform(http::Request& request, http::Response response);
  asio::awaitable<http::Response> settle(http::Request& request, http::Response response);
  asio::awaitable<http::Response> hold(http::Request& request, std::shared_ptr<http::HeldPoll> wait);
  asio::awaitable<Sent> stream_events(http::Request& request, std::shared_ptr<http::Events> events);
  asio::awaitable<bool> send_text(std::string_view head, std::string_view body);
  asio::awaitable<bool> send_file(const http::FileSlice& file);
  // pieces.cpp: the same for content that is not a file on disk.
  asio::awaitable<bool> send_pieces(const http::Request& request, const http::FileSlice& slice);
  // How many bytes were read; 0 when the answer cannot continue, which is logged.
  asio::awaitable<std::size_t> next_piece(const http::Request& request, const http::FileSlice& slice,
                                          std::uint64_t sent, std::span<char> room);
  asio::awaitable<void> refuse(const http::Fault& fault, const http::Request& request);
  asio::awaitable<void> linger();
  // The head of an answer; without `length` the answer is chunked.
  std::string write_head(const http::Request& request, const http::Response& response,
                         std::optional<std::uint64_t> length) const;
  void write_head_to(std::string& head, const http::Request& request, const http::Response& response,
                     std::optional<std::uint64_t> length, SteadyTime now) const;
  http::Response failure_response(std::exception_ptr failure, const http::Request& request);

  void arm(SteadyTime deadline) { deadline_ = deadline; }
  void disarm() { deadline_ = SteadyTime::max(); }
  void watch_for_departure();
  Shared& shared() const { return io_thread_.shared(); }
  const Timeouts& timeouts() const { return io_thread_.shared().options.timeouts; }

  IoThread& io_thread_;
  Socket socket_;
  const std::string peer_;
  const std::string key_;
  Buffer buffer_;
  std::string unsent_;  // the part of an answer by serve_now() that the socket did not accept at once
  std::list<Connection*>::iterator position_;
  SteadyTime deadline_ = SteadyTime::max();
  std::size_t group_ = 0;  // of the current request's jobs: that of its client
  bool idle_ = false;
  bool expired_ = false;        // the deadline passed: the running operation was cancelled
  bool body_consumed_ = false;  // the body of the current request was read to its end
  int writes_ = 0;              // that the current request has handed to the store
  bool answering_ = false;      // bytes of the answer may have been sent
  bool closing_ = false;        // no further request on this connection
  bool watching_ = false;       // waits for readability while a request is parked
  bool unread_ = false;         // bytes came while parked, so readability no longer shows a closed connection
  std::unique_ptr<Waiters::Armed> armed_;    // while a request is held
  std::weak_ptr<UpstreamRequest> upstream_;  // while a body is passed on
};

}  // namespace restante::net
