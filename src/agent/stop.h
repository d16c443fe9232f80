// Stop: the one signal that ends the agent. request() may be called from a signal handler or any thread, any number of
// times; it cannot be taken back. All threads of the agent sleep by waiting on it, so that none sleeps on after a
// request.
#pragma once
#include <atomic>
#include <chrono>

namespace restante::agent {

class Stop {
 public:
  Stop();  // throws std::system_error when the process has no descriptors left
  ~Stop();

  void request() noexcept;
  bool requested() const noexcept { return requested_.load(); }
  // Readable once requested; for poll(2).
  int descriptor() const { return pipe_[0]; }
  // Returns requested(); at once when it is already true.
  bool wait_for(std::chrono::milliseconds time) const;
  void wait() const;

 private:
  std::atomic<bool> requested_{false};
  int pipe_[2];
};

}  // namespace restante::agent
