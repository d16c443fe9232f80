// Call: one running tools/call: its cancellation and its progress reports. Thread-safe: the tool runs on one thread,
// the cancellation comes from another.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/mutex.h"

namespace restante::mcp {

class Call {
 public:
  // Sends a progress report to the client; not set when the client has not asked for reports.
  using Progress = std::function<void(double done, double total, std::string_view message)>;

  explicit Call(Progress progress = {}) : progress_(std::move(progress)) {}

  void cancel();
  bool cancelled() const;
  // `end` runs when the call is cancelled, or at once if it already was, on the thread of the cancellation. An empty
  // function removes it; when this returns, no `end` is running.
  void when_cancelled(std::function<void()> end);

  // Sends at most ten reports a second, and only increasing values, as the protocol demands.
  void progress(double done, double total, std::string_view message);
  // The next reports count from 0 again; their values are added to those reported so far.
  void next_stage();

 private:
  const Progress progress_;
  mutable Mutex mutex_;
  bool cancelled_ RESTANTE_GUARDED_BY(mutex_) = false;
  std::function<void()> end_ RESTANTE_GUARDED_BY(mutex_);
  double reported_ RESTANTE_GUARDED_BY(mutex_) = -1;
  double base_ RESTANTE_GUARDED_BY(mutex_) = 0;
  std::chrono::steady_clock::time_point reported_at_ RESTANTE_GUARDED_BY(mutex_){};
};

// Sets `when_cancelled` for the length of a scope.
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
