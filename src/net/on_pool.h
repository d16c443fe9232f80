// on_pool: runs a plain function on the pool and resumes the coroutine on its own I/O thread with what it returned or
// threw. PoolJob is the same in two steps, so that a coroutine can read the next chunk while the last one is written.
#pragma once
#include <exception>
#include <optional>
#include <utility>

#include <boost/asio.hpp>

#include "net/pool.h"

namespace restante::net {

namespace asio = boost::asio;

template <class T>
class PoolJob {
 public:
  // `function` must stay alive until done() has returned, and so must this object.
  template <class F>
  void start(Pool& pool, const asio::any_io_executor& home, F& function) {
    running_ = true;
    finished_ = false;
    pool.post([this, &function, home] {
      try {
        result_.emplace(function());
      } catch (...) {
        failure_ = std::current_exception();
      }
      asio::post(home, [this] {
        finished_ = true;
        if (waiting_) std::exchange(waiting_, nullptr)();
      });
    });
  }

  bool running() const { return running_; }

  asio::awaitable<T> done() {
    if (!finished_) {
      auto initiate = [this](auto handler) {
        // std::function copies; the handler cannot be copied.
        auto shared = std::make_shared<decltype(handler)>(std::move(handler));
        waiting_ = [shared] { std::move (*shared)(); };
      };
      co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(initiate, asio::use_awaitable);
    }
    running_ = false;
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    T value = std::move(*result_);
    result_.reset();
    co_return value;
  }

 private:
  bool running_ = false;
  bool finished_ = false;
  std::optional<T> result_;
  std::exception_ptr failure_;
  std::function<void()> waiting_;
};

template <class F>
asio::awaitable<std::invoke_result_t<F&>> on_pool(Pool& pool, F& function) {
  using T = std::invoke_result_t<F&>;
  const asio::any_io_executor home = co_await asio::this_coro::executor;
  std::optional<T> result;
  std::exception_ptr failure;
  auto initiate = [&](auto handler) {
    pool.post([&result, &failure, &function, home, handler = std::move(handler)]() mutable {
      try {
        result.emplace(function());
      } catch (...) {
        failure = std::current_exception();
      }
      asio::post(home, std::move(handler));
    });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(initiate, asio::use_awaitable);
  if (failure) std::rethrow_exception(failure);
  co_return std::move(*result);
}

}  // namespace restante::net
