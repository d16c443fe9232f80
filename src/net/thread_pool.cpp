#include "net/thread_pool.h"

#include <chrono>

namespace restante::net {
namespace {

// Longer than any job that only computes or finds its rows in memory, shorter than a person notices.
constexpr auto kCheckPeriod = std::chrono::milliseconds(2);
// One thread in so many never works for a group that has all the others.
constexpr std::size_t kShareForOthers = 4;

}  // namespace

ThreadPool::ThreadPool(unsigned threads, unsigned awake)
    : most_awake_(std::clamp(awake > 0 ? awake : std::thread::hardware_concurrency(), 1u, std::max(threads, 1u))),
      workers_(std::max(threads, 1u)),
      most_of_a_group_(workers_.size() - workers_.size() / kShareForOthers),
      progress_(workers_.size()) {
  asleep_.reserve(workers_.size());
  for (std::size_t number = 0; number < workers_.size(); ++number) {
    Worker& worker = workers_[number];
    worker.pool = this;
    worker.number = number;
    worker.thread = std::thread([this, &worker] { work(worker); });
  }
  watcher_ = std::thread([this] { watch(); });
}

ThreadPool::~ThreadPool() {
  join();
  // One after the other: each job owns the next one of its group.
  const MutexLock lock(mutex_);
  for (auto& [number, group] : groups_) {
    while (group.first) group.first = std::move(group.first->next);
  }
}

void ThreadPool::join() {
  {
    const MutexLock lock(mutex_);
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
  progress_[worker->number].called = true;
  return worker;
}

void ThreadPool::let_have_a_turn(Group& group) {
  const bool full = group.number != 0 && group.running >= most_of_a_group_;
  if (group.in_turns || !group.first || full) return;
  group.in_turns = true;
  group.next = nullptr;
  (first_turn_ ? last_turn_->next : first_turn_) = &group;
  last_turn_ = &group;
}

std::unique_ptr<ThreadPool::Work> ThreadPool::take(Group& group) {
  first_turn_ = group.next;
  group.in_turns = false;
  std::unique_ptr<Work> work = std::move(group.first);
  group.first = std::move(work->next);
  if (!group.first) group.last = nullptr;
  ++group.running;
  --waiting_jobs_;
  let_have_a_turn(group);
  return work;
}

void ThreadPool::ended(Group& group) {
  --group.running;
  let_have_a_turn(group);
  if (group.running == 0 && !group.first) groups_.erase(std::size_t{group.number});
}

void ThreadPool::enqueue(std::unique_ptr<Work> work, std::size_t group) {
  Worker* called = nullptr;
  bool watched = true;
  {
    const MutexLock lock(mutex_);
    Group& into = groups_[group];
    into.number = group;
    Work* const added = work.get();
    (into.last ? into.last->next : into.first) = std::move(work);
    into.last = added;
    ++waiting_jobs_;
    let_have_a_turn(into);
    if (awake() < allowed()) called = call();
    if (!called) watched = std::exchange(watching_, true);
  }
  if (called) called->wake.notify_one();
  if (!watched) wake_watcher_.notify_one();
}

void ThreadPool::sleep(Worker& worker, MutexLock& lock) {
  asleep_.push_back(&worker);
  progress_[worker.number].called = false;
  while (!progress_[worker.number].called) worker.wake.wait(lock);
}

void ThreadPool::let_another_work(Worker& waiting) {
  Worker* called = nullptr;
  {
    const MutexLock lock(mutex_);
    progress_[waiting.number].waits = true;
    ++waiting_;
    if (first_turn_ && awake() < allowed()) called = call();
  }
  if (called) called->wake.notify_one();
}

void ThreadPool::count_again(Worker& worker) {
  const MutexLock lock(mutex_);
  progress_[worker.number].waits = false;
  --waiting_;
}

void ThreadPool::work(Worker& worker) {
  BlockingScope::observe_this_thread(worker);
  MutexLock lock(mutex_);
  for (;;) {
    // More threads than wanted are awake when stuck jobs have ended.
    while (!joining_ && (!first_turn_ || awake() > allowed())) sleep(worker, lock);
    if (!first_turn_) return;
    Group& group = *first_turn_;
    std::unique_ptr<Work> next = take(group);
    ++progress_[worker.number].jobs;
    progress_[worker.number].busy = true;
    lock.unlock();
    next->run();
    next.reset();
    lock.lock();
    progress_[worker.number].busy = false;
    ended(group);
  }
}

// How many work on the same job as at the last check.
std::size_t ThreadPool::count_stuck() {
  std::size_t stuck = 0;
  for (Progress& worker : progress_) {
    if (worker.busy && !worker.waits && worker.jobs == worker.seen) ++stuck;
    worker.seen = worker.jobs;
  }
  return stuck;
}

void ThreadPool::watch() {
  MutexLock lock(mutex_);
  while (!joining_) {
    watching_ = first_turn_ != nullptr || stuck_ > 0;
    while (!watching_ && !joining_) wake_watcher_.wait(lock);
    count_stuck();
    const auto next_check = std::chrono::steady_clock::now() + kCheckPeriod;
    while (!joining_ && wake_watcher_.wait_until(lock, next_check) == std::cv_status::no_timeout) continue;
    stuck_ = count_stuck();
    const std::size_t startable = first_turn_ ? waiting_jobs_ : 0;
    for (std::size_t jobs = startable; jobs > 0 && awake() < allowed(); --jobs) call()->wake.notify_one();
  }
}

}  // namespace restante::net
