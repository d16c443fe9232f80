// on_pool runs a plain function on the pool and resumes the coroutine on its own I/O thread with the result or the
// exception. `group` as in ThreadPool::post(). To `writes`, if given, is added how many writes the function handed to
// the store.
#pragma once
#include <exception>
#include <optional>
#include <utility>

#include <boost/asio.hpp>

#include "base/handed_writes.h"
#include "net/resume.h"
#include "net/thread_pool.h"

namespace restante::net {

namespace asio = boost::asio;

template <class F>
asio::awaitable<std::invoke_result_t<F&>> on_pool(ThreadPool& pool, F& function, std::size_t group = 0,
                                                  int* writes = nullptr) {
  using T = std::invoke_result_t<F&>;
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  std::optional<T> result;
  std::exception_ptr failure;
  auto initiate = [&](auto handler) {
    const auto resume = make_resume(handler, executor);
    until_memory([&] {
      pool.post(
          [&result, &failure, &function, writes, resume] {
            try {
              const CountedWrites counted(writes);
              result.emplace(function());
            } catch (...) {
              failure = std::current_exception();
            }
            resume();
          },
          group);
    });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(initiate, asio::use_awaitable);
  if (failure) std::rethrow_exception(failure);
  co_return std::move(*result);
}

}  // namespace restante::net
