// Mutexes that the compiler checks. Clang compares the attributes below with the code (-Wthread-safety) and reports an
// error; other compilers ignore them. RESTANTE_GUARDED_BY(mutex_) after a member: it is used only while mutex_ is
// locked. RESTANTE_REQUIRES(mutex_) after a function: its callers have locked mutex_; RESTANTE_EXCLUDES(mutex_): they
// have not, it locks mutex_ itself. A mutex is locked by the object for it, until the end of a scope. Constructors and
// destructors are not checked. A lambda is checked as a function of its own, so it needs RESTANTE_REQUIRES, too, and a
// condition is waited for in a loop: `while (!ready_) changed_.wait(lock);`.
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#if defined(__clang__)
#define RESTANTE_LOCK_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define RESTANTE_LOCK_ATTRIBUTE(attribute)
#endif

#define RESTANTE_GUARDED_BY(mutex) RESTANTE_LOCK_ATTRIBUTE(guarded_by(mutex))
#define RESTANTE_REQUIRES(...) RESTANTE_LOCK_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define RESTANTE_EXCLUDES(...) RESTANTE_LOCK_ATTRIBUTE(locks_excluded(__VA_ARGS__))
// After a mutex: a thread that locks both locks this one first.
#define RESTANTE_ACQUIRED_BEFORE(...) RESTANTE_LOCK_ATTRIBUTE(acquired_before(__VA_ARGS__))

// For the classes of this file.
#define RESTANTE_CAPABILITY(name) RESTANTE_LOCK_ATTRIBUTE(capability(name))
#define RESTANTE_SCOPED_CAPABILITY RESTANTE_LOCK_ATTRIBUTE(scoped_lockable)
#define RESTANTE_ACQUIRE(...) RESTANTE_LOCK_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RESTANTE_ACQUIRE_SHARED(...) RESTANTE_LOCK_ATTRIBUTE(acquire_shared_capability(__VA_ARGS__))
#define RESTANTE_TRY_ACQUIRE(...) RESTANTE_LOCK_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define RESTANTE_RELEASE(...) RESTANTE_LOCK_ATTRIBUTE(release_capability(__VA_ARGS__))

namespace restante {

class RESTANTE_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

 private:
  friend class MutexLock;
  std::mutex mutex_;
};

// Can be unlocked and locked again before its scope ends.
class RESTANTE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) RESTANTE_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~MutexLock() RESTANTE_RELEASE() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() RESTANTE_RELEASE() { lock_.unlock(); }
  void lock() RESTANTE_ACQUIRE() { lock_.lock(); }

 private:
  friend class ConditionVariable;
  std::unique_lock<std::mutex> lock_;
};

// A wait may end without a notification: check the condition again. The mutex is locked again when a wait returns.
class ConditionVariable {
 public:
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

  void wait(MutexLock& lock) { condition_.wait(lock.lock_); }
  template <class Duration>
  std::cv_status wait_for(MutexLock& lock, Duration time) {
    return condition_.wait_for(lock.lock_, time);
  }
  template <class TimePoint>
  std::cv_status wait_until(MutexLock& lock, TimePoint until) {
    return condition_.wait_until(lock.lock_, until);
  }

 private:
  std::condition_variable condition_;
};

// Any number of readers at once, or one writer alone.
class RESTANTE_CAPABILITY("mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

 private:
  friend class ReaderLock;
  friend class WriterLock;
  std::shared_mutex mutex_;
};

class RESTANTE_SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) RESTANTE_ACQUIRE_SHARED(mutex) : lock_(mutex.mutex_) {}
  ~ReaderLock() RESTANTE_RELEASE() = default;
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  std::shared_lock<std::shared_mutex> lock_;
};

class RESTANTE_SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) RESTANTE_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~WriterLock() RESTANTE_RELEASE() = default;
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  std::lock_guard<std::shared_mutex> lock_;
};

// For a thread that gives up when the mutex stays locked: `if (!mutex_.try_lock_for(time)) return;`, then a
// TimedMutexLock, which unlocks it.
class RESTANTE_CAPABILITY("mutex") TimedMutex {
 public:
  TimedMutex() = default;
  TimedMutex(const TimedMutex&) = delete;
  TimedMutex& operator=(const TimedMutex&) = delete;

  bool try_lock() RESTANTE_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  template <class Duration>
  bool try_lock_for(Duration time) RESTANTE_TRY_ACQUIRE(true) {
    return mutex_.try_lock_for(time);
  }

 private:
  friend class TimedMutexLock;
  std::timed_mutex mutex_;
};

class RESTANTE_SCOPED_CAPABILITY TimedMutexLock {
 public:
  explicit TimedMutexLock(TimedMutex& mutex) RESTANTE_REQUIRES(mutex) : lock_(mutex.mutex_, std::adopt_lock) {}
  ~TimedMutexLock() RESTANTE_RELEASE() = default;
  TimedMutexLock(const TimedMutexLock&) = delete;
  TimedMutexLock& operator=(const TimedMutexLock&) = delete;

 private:
  std::lock_guard<std::timed_mutex> lock_;
};

}  // namespace restante
