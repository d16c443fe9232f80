// Commit<T> is a future: the result of a write, available once its group of writes is durable. The store's writer
// thread fulfils it through a CommitPromise. A test or a command takes it and blocks; the edge subscribes and takes it
// when called back, so that no thread sleeps. Copies share one answer. Thread-safe. take() rethrows what the writer
// failed with, usually Unavailable. What an observer or a callback throws is reported (base/observer_failures.h) and
// changes nothing: the write is stored.
#pragma once
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/observer_failures.h"

namespace restante {

template <class T>
class Commit {
 public:
  // An answer that needed no write.
  static Commit ready(T value) { return Commit(std::make_shared<State>(std::move(value))); }

  // Blocks until the group is durable. The value is moved out: taken once.
  T take() {
    MutexLock lock(state_->mutex);
    while (!state_->done) state_->changed.wait(lock);
    if (state_->failure) std::rethrow_exception(state_->failure);
    return std::move(*state_->value);
  }

  // Waits at most so long; false when take() would still block.
  bool wait_for(std::chrono::milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    MutexLock lock(state_->mutex);
    while (!state_->done) {
      if (state_->changed.wait_until(lock, until) == std::cv_status::timeout) return state_->done;
    }
    return true;
  }

  // Calls the observer with the value before take() can return it; never calls it when the write failed. The observer
  // runs at once on this thread, or later on the writer's thread, where it must be brief. For the code that makes the
  // commit, before it passes the commit on.
  void then(std::function<void(const T&)> observer) {
    const T* value = nullptr;
    {
      const MutexLock lock(state_->mutex);
      if (!state_->settled()) {
        state_->observers.push_back(std::move(observer));
        return;
      }
      value = state_->if_value();
    }
    if (value) ObserverFailures::guard([&] { observer(*value); });
  }

  // Calls back once take() no longer blocks: at once on this thread, or later on the writer's thread, where it must be
  // brief.
  void on_done(std::function<void()> callback) {
    {
      const MutexLock lock(state_->mutex);
      if (!state_->done) {
        state_->callbacks.push_back(std::move(callback));
        return;
      }
    }
    ObserverFailures::guard(callback);
  }

 private:
  template <class>
  friend class CommitPromise;
  struct State {
    State() = default;
    explicit State(T ready) : done(true), value(std::move(ready)) {}

    Mutex mutex;
    ConditionVariable changed;
    bool done RESTANTE_GUARDED_BY(mutex) = false;
    std::optional<T> value RESTANTE_GUARDED_BY(mutex);
    std::exception_ptr failure RESTANTE_GUARDED_BY(mutex);
    std::vector<std::function<void(const T&)>> observers RESTANTE_GUARDED_BY(mutex);
    std::vector<std::function<void()>> callbacks RESTANTE_GUARDED_BY(mutex);

    bool settled() const RESTANTE_REQUIRES(mutex) { return value || failure; }
    // Null when there is none. For observers, who read it without the lock: nobody changes it before take().
    const T* if_value() const RESTANTE_REQUIRES(mutex) { return value ? &*value : nullptr; }
  };
  explicit Commit(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

// The writer's side: fulfilled exactly once, after the commit.
template <class T>
class CommitPromise {
 public:
  Commit<T> commit() const { return Commit<T>(state_); }
  void fulfil(T value) { settle(std::move(value), nullptr); }
  void fail(std::exception_ptr failure) { settle(std::nullopt, std::move(failure)); }

 private:
  using State = typename Commit<T>::State;

  void settle(std::optional<T> value, std::exception_ptr failure) {
    State& state = *state_;
    const T* settled = nullptr;
    std::vector<std::function<void(const T&)>> observers;
    {
      const MutexLock lock(state.mutex);
      if (value) state.value.emplace(std::move(*value));
      state.failure = std::move(failure);
      settled = state.if_value();
      observers.swap(state.observers);
    }
    if (settled) {
      for (auto& observer : observers) ObserverFailures::guard([&] { observer(*settled); });
    }
    std::vector<std::function<void()>> callbacks;
    {
      const MutexLock lock(state.mutex);
      state.done = true;
      callbacks.swap(state.callbacks);
      state.changed.notify_all();
    }
    for (auto& callback : callbacks) ObserverFailures::guard(callback);
  }

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace restante
