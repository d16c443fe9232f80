// Alarm: does one thing after a while, on a thread of its own, unless it is destroyed before. Once destroyed it has
// either done it or never will. What it does must not throw.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace restante {

class Alarm {
 public:
  Alarm(std::chrono::milliseconds after, std::function<void()> action)
      : thread_([this, after, action = std::move(action)] {
          std::unique_lock lock(mutex_);
          if (!off_.wait_for(lock, after, [this] { return is_off_; })) action();
        }) {}
  ~Alarm() {
    {
      const std::lock_guard lock(mutex_);
      is_off_ = true;
    }
    off_.notify_all();
    thread_.join();
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable off_;
  bool is_off_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace restante
