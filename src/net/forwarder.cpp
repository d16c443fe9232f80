#include "net/upstream_request.h"

namespace restante::net {

asio::awaitable<http::Forwarded> forward(const http::Forward& order) {
  static const LookUp system = look_up;
  co_return co_await forward(order, system);
}

asio::awaitable<http::Forwarded> forward(const http::Forward& order, const LookUp& names) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const UpstreamRequest::Pace any_pace;
  const auto upstream = std::make_shared<UpstreamRequest>(executor, order, any_pace);
  upstream->allow_until(std::chrono::steady_clock::now() + order.timeout);
  const bool open = co_await upstream->open(names);
  if (open) {
    const std::optional<std::uint64_t> length = order.body.size();
    std::function<void()> no_callback;
    co_await upstream->begin(length, std::move(no_callback));
    // A server that refuses early closes while we still send: its answer may have arrived anyway.
    co_await upstream->send(order.body);
    co_await upstream->reply();
  }
  co_return upstream->take_result();
}

}  // namespace restante::net
