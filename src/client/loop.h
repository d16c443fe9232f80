// Loop runs one asynchronous operation to its end on the calling thread, with a deadline. So client/ is blocking and
// can still be interrupted: cancel() from any thread wakes it and is final. Only client/*.cpp include this file.
#pragma once
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>

namespace restante::client {

using Deadline = std::chrono::steady_clock::time_point;

class Loop {
 public:
  enum class Ended { done, timeout, cancelled, hung_up };

  boost::asio::io_context& context() { return context_; }
  bool cancelled() const { return cancelled_.load(); }

  void cancel() {
    cancelled_ = true;
    boost::asio::post(context_, [] {});  // wakes run_one
  }

  // Ends the operation that is running, if any, and none that starts later.
  void hang_up() {
    hung_up_ = true;
    boost::asio::post(context_, [] {});
  }
  bool hung_up() const { return hung_up_.load(); }
  void forget_hang_up() { hung_up_ = false; }

  // Runs until `done`, which a completion handler sets, or gives up.
  Ended run_until(const bool& done, Deadline deadline) {
    while (!done) {
      if (cancelled()) return Ended::cancelled;
      if (hung_up()) return Ended::hung_up;
      if (context_.run_one_until(deadline) == 0 && !done) return Ended::timeout;
    }
    return Ended::done;
  }

  // For an operation that was just aborted: its handler refers to the caller's stack, so it must run before the caller
  // returns.
  void drain(const bool& done) {
    while (!done) context_.run_one();
  }

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{context_.get_executor()};
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> hung_up_{false};
};

}  // namespace restante::client
