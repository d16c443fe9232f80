// Wait: lives while its thread waits for a disk. Whoever owns the thread may watch for it, and put another to work in
// the meantime. Costs next to nothing where nobody watches.
#pragma once

namespace restante {

class WaitWatcher {
 public:
  // On the thread that waits.
  virtual void wait_begins() = 0;
  virtual void wait_ends() = 0;

 protected:
  ~WaitWatcher() = default;
};

class Wait {
 public:
  Wait() {
    if (watcher_) watcher_->wait_begins();
  }
  ~Wait() {
    if (watcher_) watcher_->wait_ends();
  }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  // For the rest of the calling thread's life.
  static void watch_this_thread(WaitWatcher& watcher) { watcher_ = &watcher; }

 private:
  static inline thread_local WaitWatcher* watcher_ = nullptr;
};

}  // namespace restante
