// BlockingScope marks the time in which its thread blocks on a disk. The owner of the thread can observe this and run
// other work on another thread meanwhile. It costs almost nothing on a thread without an observer.
#pragma once

namespace restante {

class BlockingObserver {
 public:
  // Both are called on the thread that blocks.
  virtual void blocking_begins() = 0;
  virtual void blocking_ends() = 0;

 protected:
  ~BlockingObserver() = default;
};

class BlockingScope {
 public:
  BlockingScope() {
    if (observer_) observer_->blocking_begins();
  }
  ~BlockingScope() {
    if (observer_) observer_->blocking_ends();
  }
  BlockingScope(const BlockingScope&) = delete;
  BlockingScope& operator=(const BlockingScope&) = delete;

  // For the rest of the calling thread's life.
  static void observe_this_thread(BlockingObserver& observer) { observer_ = &observer; }

 private:
  static inline thread_local BlockingObserver* observer_ = nullptr;
};

}  // namespace restante
