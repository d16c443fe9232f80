// Wait: lives while its thread waits for a disk. Whoever owns the thread may watch for it, and put another to work in
// the meantime. Costs next to nothing where nobody watches.
#pragma once

namespace restante {

class BlockingObserver {
 public:
  // On the thread that waits.
  virtual void blocking_begins() = 0;
  virtual void blocking_ends() = 0;

 protected:
  ~BlockingObserver() = default;
};

class BlockingScope {
 public:
  BlockingScope() {
    if (watcher_) watcher_->blocking_begins();
  }
  ~BlockingScope() {
    if (watcher_) watcher_->blocking_ends();
  }
  BlockingScope(const BlockingScope&) = delete;
  BlockingScope& operator=(const BlockingScope&) = delete;

  // For the rest of the calling thread's life.
  static void observe_this_thread(BlockingObserver& watcher) { watcher_ = &watcher; }

 private:
  static inline thread_local BlockingObserver* watcher_ = nullptr;
};

}  // namespace restante
