#include "net/upstream_request.h"

#include "net/on_pool.h"
#include "net/shared.h"

namespace restante::net {
namespace {

// Together about as long as it takes to replace a database by another one.
constexpr std::chrono::seconds kPauses[] = {std::chrono::seconds(1), std::chrono::seconds(2), std::chrono::seconds(5),
                                            std::chrono::seconds(10), std::chrono::seconds(15)};

// Whether `then` and its commit succeeded.
asio::awaitable<bool> call_then(Shared& shared, http::Forward& order, const http::Forwarded& came) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  try {
    auto then = [&] { return order.then(came); };
    http::Response response = co_await on_pool(*shared.pool, then);
    if (auto* later = std::get_if<std::shared_ptr<http::Later>>(&response.content)) {
      const std::shared_ptr<http::Later> pending = *later;
      auto initiate = [&pending, &executor](auto handler) {
        const auto resume = make_resume(handler, executor);  // called on the writer's thread: it only posts
        until_memory([&] { pending->when_done(resume); });
      };
      co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(initiate, asio::use_awaitable);
      auto answer = [&pending] { return pending->answer(); };
      response = co_await on_pool(*shared.pool, answer);
    }
    co_return true;
  } catch (const std::exception& e) {
    shared.log.error("errand_failed", {{"reason", e.what()}});
  }
  co_return false;
}

}  // namespace

asio::awaitable<void> run_background_call(Shared& shared, std::shared_ptr<http::Forward> order) {
  const http::Forwarded came = co_await net::forward(*order);
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor);
  for (const auto pause : kPauses) {
    const bool done = co_await call_then(shared, *order, came);
    if (done || shared.draining.load()) co_return;
    timer.expires_after(pause);
    co_await timer.async_wait(asio::use_awaitable);
  }
  co_await call_then(shared, *order, came);
}

}  // namespace restante::net
