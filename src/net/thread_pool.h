// ThreadPool: the threads for jobs that may block. Jobs start in the order they were posted. Only as many threads as
// there are cores are awake: to wake a separate thread for each of many short jobs costs more than the jobs. A thread
// that blocks does not count, and another one works in its place, up to all of them. Inside a BlockingScope this
// happens at once; for a job that takes long for any other reason, as soon as the watcher thread sees it. Thread-safe.
// A job must not throw. A job posted after join() never runs and is destroyed with the pool.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/blocking_scope.h"
#include "base/mutex.h"

namespace restante::net {

class ThreadPool {
 public:
  // `awake`: how many threads work at once while no job takes long; 0 = one per core.
  explicit ThreadPool(unsigned threads, unsigned awake = 0);
  ~ThreadPool();

  template <class Job>
  void post(Job job) {
    enqueue(std::make_unique<Holding<Job>>(std::move(job)));
  }

  // Returns when everything that was posted, also by jobs, has run.
  void join();

 private:
  // std::function would have to copy; coroutine handlers cannot be copied.
  struct Work {
    virtual ~Work() = default;
    virtual void run() = 0;
  };
  template <class Job>
  struct Holding final : Work {
    explicit Holding(Job j) : job(std::move(j)) {}
    void run() override { job(); }
    Job job;
  };
  struct Worker final : BlockingObserver {
    void blocking_begins() override { pool->let_another_work(*this); }
    void blocking_ends() override { pool->count_again(*this); }

    ThreadPool* pool = nullptr;
    std::size_t number = 0;
    ConditionVariable wake;
    std::thread thread;
  };
  struct Progress {
    bool called = false;     // woken; counts as awake from then on
    std::uint64_t jobs = 0;  // begun so far
    bool busy = false;
    bool waits = false;
    std::uint64_t seen = 0;  // jobs at the watcher's last check
  };

  void enqueue(std::unique_ptr<Work> work);
  void work(Worker& worker);
  void sleep(Worker& worker, MutexLock& lock) RESTANTE_REQUIRES(mutex_);
  Worker* call() RESTANTE_REQUIRES(mutex_);
  void let_another_work(Worker& waiting);
  void count_again(Worker& worker);
  void watch();
  std::size_t count_stuck() RESTANTE_REQUIRES(mutex_);
  std::size_t awake() const RESTANTE_REQUIRES(mutex_) { return workers_.size() - asleep_.size(); }
  std::size_t allowed() const RESTANTE_REQUIRES(mutex_) {
    return std::min(most_awake_ + waiting_ + stuck_, workers_.size());
  }

  const std::size_t most_awake_;
  std::vector<Worker> workers_;
  Mutex mutex_;
  ConditionVariable wake_watcher_;  // wakes the watcher thread
  std::deque<std::unique_ptr<Work>> queue_ RESTANTE_GUARDED_BY(mutex_);
  std::vector<Progress> progress_ RESTANTE_GUARDED_BY(mutex_);  // by the worker's number
  // Last in, first out: the caches of the last one are warm.
  std::vector<Worker*> asleep_ RESTANTE_GUARDED_BY(mutex_);
  std::size_t waiting_ RESTANTE_GUARDED_BY(mutex_) = 0;  // of those awake: inside a BlockingScope
  // Of the others: busy with one job since the watcher's last check.
  std::size_t stuck_ RESTANTE_GUARDED_BY(mutex_) = 0;
  bool watching_ RESTANTE_GUARDED_BY(mutex_) = false;  // the watcher checks again by itself
  bool joining_ RESTANTE_GUARDED_BY(mutex_) = false;
  std::thread watcher_;
};

}  // namespace restante::net
