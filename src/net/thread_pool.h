// ThreadPool: the threads for jobs that may block. Jobs of one group start in the order they were posted. Groups take
// turns, one job each, and a group never has all threads: whoever posts many jobs delays the others by a job, not by
// all of them. Only as many threads as there are cores are awake: to wake a separate thread for each of many short jobs
// costs more than the jobs. A thread that blocks does not count, and another one works in its place, up to all of them.
// Inside a BlockingScope this happens at once; for a job that takes long for any other reason, as soon as the watcher
// thread sees it. Thread-safe. A job must not throw. A job posted after join() never runs and is destroyed with the
// pool.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <unordered_map>
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

  // Group 0 is the server's own work and may have all threads.
  template <class Job>
  void post(Job job, std::size_t group = 0) {
    enqueue(std::make_unique<Holding<Job>>(std::move(job)), group);
  }

  // Returns when everything that was posted, also by jobs, has run.
  void join();

 private:
  // std::function would have to copy; coroutine handlers cannot be copied.
  struct Work {
    virtual ~Work() = default;
    virtual void run() = 0;
    std::unique_ptr<Work> next;  // of its group
  };
  struct Group {
    std::size_t number = 0;
    std::unique_ptr<Work> first;
    Work* last = nullptr;
    std::size_t running = 0;
    bool in_turns = false;
    Group* next = nullptr;  // in the order of turns
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

  void enqueue(std::unique_ptr<Work> work, std::size_t group);
  void work(Worker& worker);
  // Gives the group a turn if a job of it may start. Allocates nothing: a job that was taken over must not be lost.
  void let_have_a_turn(Group& group) RESTANTE_REQUIRES(mutex_);
  // The next job, of the group whose turn it is. Only if there is a turn.
  std::unique_ptr<Work> take(Group& group) RESTANTE_REQUIRES(mutex_);
  void ended(Group& group) RESTANTE_REQUIRES(mutex_);
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
  const std::size_t most_of_a_group_;
  Mutex mutex_;
  ConditionVariable wake_watcher_;                                             // wakes the watcher thread
  std::unordered_map<std::size_t, Group> groups_ RESTANTE_GUARDED_BY(mutex_);  // with jobs, waiting or running
  Group* first_turn_ RESTANTE_GUARDED_BY(mutex_) = nullptr;                    // groups of which a job may start
  Group* last_turn_ RESTANTE_GUARDED_BY(mutex_) = nullptr;
  std::size_t waiting_jobs_ RESTANTE_GUARDED_BY(mutex_) = 0;
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

// The group of everybody who has this name; never 0.
inline std::size_t group_named(std::string_view name) { return std::hash<std::string_view>()(name) | 1; }

}  // namespace restante::net
