// The part of Connection that passes a body on to another server while it arrives.
#include <cstring>

#include "net/connection.h"
#include "net/upstream_request.h"

namespace restante::net {
namespace {

constexpr std::size_t kStep = 64 << 10;  // about what a socket buffers: never more of a body is in memory

// Closes in every case, also after an exception: the other server sees a cut body as cut, and no callback follows.
class ClosedAtEnd {
 public:
  explicit ClosedAtEnd(UpstreamRequest& upstream) : upstream_(upstream) {}
  ~ClosedAtEnd() { upstream_.close(); }
  ClosedAtEnd(const ClosedAtEnd&) = delete;
  ClosedAtEnd& operator=(const ClosedAtEnd&) = delete;

 private:
  UpstreamRequest& upstream_;
};

// Joins many small chunks into one: they are in `room`, in order.
std::string_view joined(char* room, const std::vector<std::string_view>& pieces) {
  if (pieces.size() == 1) return pieces.front();
  std::size_t size = 0;
  for (const std::string_view piece : pieces) {
    std::memmove(room + size, piece.data(), piece.size());
    size += piece.size();
  }
  return {room, size};
}

}  // namespace

asio::awaitable<std::optional<http::Fault>> Connection::pass_on(http::Request& request, Inflow& inflow,
                                                                UpstreamRequest& upstream) {
  const auto room = std::make_unique_for_overwrite<char[]>(kStep);
  std::vector<std::string_view> pieces;
  bool useful = true;
  while (useful && !inflow.done && !upstream.ended()) {
    const auto fault = co_await next_pieces(request, inflow, room.get(), kStep, pieces);
    // The reply ends the read: then the reply is the answer, whatever the read returned.
    if (upstream.ended()) break;
    if (fault) co_return fault;
    const std::string_view bytes = joined(room.get(), pieces);
    const SteadyTime before = std::chrono::steady_clock::now();
    useful = co_await upstream.send(bytes);
    inflow.held += std::chrono::steady_clock::now() - before;
  }
  if (useful && inflow.done) co_await upstream.finish_body();
  co_return std::nullopt;
}

asio::awaitable<std::optional<http::Fault>> Connection::exchange(http::Request& request, Inflow& inflow,
                                                                 UpstreamRequest& upstream,
                                                                 std::chrono::milliseconds timeout) {
  const SteadyTime last = inflow.started + timeouts().request;
  inflow.held = std::chrono::steady_clock::now() - inflow.started;
  upstream.allow_until(last);
  std::function<void()> end_read = [self = shared_from_this()] { self->socket_.cancel(); };
  co_await upstream.begin(inflow.left, std::move(end_read));
  const auto fault = co_await pass_on(request, inflow, upstream);
  body_consumed_ = inflow.done;
  if (!body_consumed_) closing_ = true;
  if (fault) {
    upstream.close();
  } else {
    upstream.allow_until(std::min(last, std::chrono::steady_clock::now() + timeout));
    co_await upstream.reply();
  }
  co_return fault;
}

asio::awaitable<http::Response> Connection::relay_body(http::Request& request, const http::Route& route,
                                                       http::Relay& relay, std::unique_ptr<http::BodySink>& sink,
                                                       std::uint64_t limit) {
  static const LookUp system = look_up;
  Inflow inflow;
  std::optional<http::Fault> fault = begin_body(request, inflow, limit);
  if (fault) {
    closing_ = true;
    co_return http::to_response(*fault, limit);
  }
  UpstreamRequest::Pace pace;
  pace.stall = timeouts().write_stall;
  pace.min_rate = shared().options.min_rate;
  const auto upstream = std::make_shared<UpstreamRequest>(io_thread_.executor(), relay.order, pace);
  const ClosedAtEnd guard(*upstream);
  upstream_ = upstream;
  upstream->allow_until(inflow.started + std::min(relay.order.timeout, timeouts().request));
  const bool open = co_await upstream->open(system);
  if (open) fault = co_await exchange(request, inflow, *upstream, relay.order.timeout);
  http::Forwarded came = upstream->take_result();
  if (!open && relay.instead) {
    auto instead = [&] { return relay.instead(came); };
    http::BodyHandling other_way = co_await on_pool(*shared().pool, instead, group_, &writes_);
    if (auto* answer = std::get_if<http::Response>(&other_way)) co_return std::move(*answer);
    sink = std::move(std::get<std::unique_ptr<http::BodySink>>(other_way));
    co_return co_await stream_body(request, route, sink, limit);
  }
  auto then = [&] { return relay.order.then(std::move(came)); };
  http::Response answer = co_await on_pool(*shared().pool, then, group_, &writes_);
  if (fault) co_return http::refusal(route, *fault, limit);
  co_return answer;
}

}  // namespace restante::net
