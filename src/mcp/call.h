// Call: one tools/call under way: whether it was cancelled, and how its progress is told. Thread-safe: the tool runs on
// one thread, the cancellation comes from another.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/json.h"

namespace restante::mcp {

class Call {
 public:
  // Tells the caller how far it is; not set when nobody wants to know.
  using Progress = std::function<void(double done, double total, std::string_view message)>;

  explicit Call(Progress progress = {}) : progress_(std::move(progress)) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void cancel();
  bool cancelled() const;
  // `end` runs when it is cancelled, at once if it was already, on the thread of the cancellation. Empty: nothing any
  // more; when this returns none is running.
  void when_cancelled(std::function<void()> end);

  // At most ten a second, and only what goes forward, as the protocol demands.
  void progress(double done, double total, std::string_view message);
  // What is told from now on counts from 0 again and goes on top of what was told.
  void next_stage();

 private:
  const Progress progress_;
  mutable std::mutex mutex_;
  bool cancelled_ = false;
  std::function<void()> end_;
  double reported_ = -1, base_ = 0;
  std::chrono::steady_clock::time_point reported_at_{};
};

// For the length of a scope.
class WhenCancelled {
 public:
  WhenCancelled(Call& call, std::function<void()> end) : call_(call) { call_.when_cancelled(std::move(end)); }
  ~WhenCancelled() { call_.when_cancelled({}); }
  WhenCancelled(const WhenCancelled&) = delete;
  WhenCancelled& operator=(const WhenCancelled&) = delete;

 private:
  Call& call_;
};

}  // namespace restante::mcp
