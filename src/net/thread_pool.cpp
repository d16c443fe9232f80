#include "net/thread_pool.h"

#include <chrono>

namespace restante::net {
namespace {

// Longer than any job that only computes or finds its rows in memory, shorter than a person notices.
constexpr auto kCheckPeriod = std::chrono::milliseconds(2);

}  // namespace

ThreadPool::ThreadPool(unsigned threads, unsigned awake)
    : most_awake_(std::clamp(awake > 0 ? awake : std::thread::hardware_concurrency(), 1u, std::max(threads, 1u))),
      workers_(std::max(threads, 1u)) {
  asleep_.reserve(workers_.size());
  for (Worker& worker : workers_) {
    worker.pool = this;
    worker.thread = std::thread([this, &worker] { work(worker); });
  }
  watcher_ = std::thread([this] { watch(); });
}

ThreadPool::~ThreadPool() { join(); }

void ThreadPool::join() {
  {
    const std::lock_guard lock(mutex_);
    joining_ = true;
    while (Worker* worker = call()) worker->wake.notify_one();
  }
  wake_watcher_.notify_one();
  for (Worker& worker : workers_) {
    if (worker.thread.joinable()) worker.thread.join();
  }
  if (watcher_.joinable()) watcher_.join();
}

// A sleeping worker, which the caller must notify; nullptr when none sleeps.
ThreadPool::Worker* ThreadPool::call() {
  if (asleep_.empty()) return nullptr;
  Worker* const worker = asleep_.back();
  asleep_.pop_back();
  worker->called = true;
  return worker;
}

void ThreadPool::enqueue(std::unique_ptr<Work> work) {
  Worker* called = nullptr;
  bool watched = true;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    if (awake() < allowed()) called = call();
    if (!called) watched = std::exchange(watching_, true);
  }
  if (called) called->wake.notify_one();
  if (!watched) wake_watcher_.notify_one();
}

void ThreadPool::sleep(Worker& worker, std::unique_lock<std::mutex>& lock) {
  asleep_.push_back(&worker);
  worker.called = false;
  worker.wake.wait(lock, [&worker] { return worker.called; });
}

void ThreadPool::let_another_work(Worker& waiting) {
  Worker* called = nullptr;
  {
    const std::lock_guard lock(mutex_);
    waiting.waits = true;
    ++waiting_;
    if (!queue_.empty() && awake() < allowed()) called = call();
  }
  if (called) called->wake.notify_one();
}

void ThreadPool::count_again(Worker& worker) {
  const std::lock_guard lock(mutex_);
  worker.waits = false;
  --waiting_;
}

void ThreadPool::work(Worker& worker) {
  BlockingScope::observe_this_thread(worker);
  std::unique_lock lock(mutex_);
  for (;;) {
    // More threads than wanted are awake when stuck jobs have ended.
    while (!joining_ && (queue_.empty() || awake() > allowed())) sleep(worker, lock);
    if (queue_.empty()) return;
    std::unique_ptr<Work> next = std::move(queue_.front());
    queue_.pop_front();
    ++worker.jobs;
    worker.busy = true;
    lock.unlock();
    next->run();
    next.reset();
    lock.lock();
    worker.busy = false;
  }
}

// How many work on the same job as at the last check.
std::size_t ThreadPool::count_stuck() {
  std::size_t stuck = 0;
  for (Worker& worker : workers_) {
    if (worker.busy && !worker.waits && worker.jobs == worker.seen) ++stuck;
    worker.seen = worker.jobs;
  }
  return stuck;
}

void ThreadPool::watch() {
  std::unique_lock lock(mutex_);
  while (!joining_) {
    watching_ = !queue_.empty() || stuck_ > 0;
    if (!watching_) wake_watcher_.wait(lock, [this] { return watching_ || joining_; });
    count_stuck();
    wake_watcher_.wait_for(lock, kCheckPeriod, [this] { return joining_; });
    stuck_ = count_stuck();
    for (std::size_t jobs = queue_.size(); jobs > 0 && awake() < allowed(); --jobs) call()->wake.notify_one();
  }
}

}  // namespace restante::net
