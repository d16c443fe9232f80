// make_resume: for a coroutine that is suspended until another thread lets it continue. From a completion handler it
// makes a function that can be copied and called once, on any thread; it resumes the coroutine on its own I/O thread.
// It never throws: the coroutine would be lost, and with it the client's answer.
#pragma once
#include <memory>
#include <utility>

#include <boost/asio.hpp>

#include "base/until_memory.h"

namespace restante::net {

namespace asio = boost::asio;

template <class Handler>
auto make_resume(Handler& handler, const asio::any_io_executor& executor) {
  // Not moved before there is room for it.
  const auto kept = until_memory([&] { return std::make_shared<Handler>(std::move(handler)); });
  return [kept, executor] {
    until_memory([&] {
      asio::post(executor, [kept] {
        // The other thread may be the last to release `kept`: then it releases an empty one.
        Handler own(std::move(*kept));
        std::move(own)();
      });
    });
  };
}

}  // namespace restante::net
