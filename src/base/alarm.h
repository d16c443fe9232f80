// Alarm runs one action after a delay, on its own thread, unless it is destroyed before. After the destructor the
// action has either run completely or will never run. The action must not throw.
#pragma once
#include <chrono>
#include <functional>
#include <thread>

#include "base/mutex.h"

namespace restante {

class Alarm {
 public:
  Alarm(std::chrono::milliseconds after, std::function<void()> action)
      : thread_([this, after, action = std::move(action)] {
          const auto due = std::chrono::steady_clock::now() + after;
          MutexLock lock(mutex_);
          while (!is_off_ && off_.wait_until(lock, due) == std::cv_status::no_timeout) continue;
          if (!is_off_) action();
        }) {}
  ~Alarm() {
    {
      const MutexLock lock(mutex_);
      is_off_ = true;
    }
    off_.notify_all();
    thread_.join();
  }

 private:
  Mutex mutex_;
  ConditionVariable off_;
  bool is_off_ RESTANTE_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace restante
