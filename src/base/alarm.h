// Alarm runs one action after a delay, on its own thread, unless it is destroyed before. After the destructor the
// action has either run completely or will never run. The action must not throw.
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
