// Commit<T> is a future: the result of a write, available once its group of writes is durable. The store's writer
// thread fulfils it through a CommitPromise. A test or a command takes it and blocks; the edge subscribes and takes it
// when called back, so that no thread sleeps. Copies share one answer. Thread-safe. take() rethrows what the writer
// failed with, usually Unavailable.
#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace restante {

template <class T>
class Commit {
 public:
  // An answer that needed no write.
  static Commit ready(T value) {
    Commit commit;
    commit.state_->value.emplace(std::move(value));
    commit.state_->done = true;
    return commit;
  }

  // Blocks until the group is durable. The value is moved out: taken once.
  T take() {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->done; });
    if (state_->failure) std::rethrow_exception(state_->failure);
    return std::move(*state_->value);
  }

  // Calls the observer with the value before take() can return it; never calls it when the write failed. The observer
  // runs at once on this thread, or later on the writer's thread, where it must be brief. For the code that makes the
  // commit, before it passes the commit on.
  void then(std::function<void(const T&)> observer) {
    {
      const std::lock_guard lock(state_->mutex);
      if (!state_->settled()) {
        state_->observers.push_back(std::move(observer));
        return;
      }
    }
    if (state_->value) observer(*state_->value);
  }

  // Calls back once take() no longer blocks: at once on this thread, or later on the writer's thread, where it must be
  // brief.
  void on_done(std::function<void()> callback) {
    {
      const std::lock_guard lock(state_->mutex);
      if (!state_->done) {
        state_->callbacks.push_back(std::move(callback));
        return;
      }
    }
    callback();
  }

 private:
  template <class>
  friend class CommitPromise;
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    std::optional<T> value;
    std::exception_ptr failure;
    std::vector<std::function<void(const T&)>> observers;
    std::vector<std::function<void()>> callbacks;

    bool settled() const { return value || failure; }
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// The writer's side: fulfilled exactly once, after the commit.
template <class T>
class CommitPromise {
 public:
  Commit<T> commit() const { return commit_; }
  void fulfil(T value) {
    settle([&](auto& state) { state.value.emplace(std::move(value)); });
  }
  void fail(std::exception_ptr failure) {
    settle([&](auto& state) { state.failure = std::move(failure); });
  }

 private:
  template <class Set>
  void settle(Set set) {
    auto& state = *commit_.state_;
    std::vector<std::function<void(const T&)>> observers;
    {
      const std::lock_guard lock(state.mutex);
      set(state);
      observers.swap(state.observers);
    }
    if (state.value) {
      for (auto& observer : observers) observer(*state.value);
    }
    std::vector<std::function<void()>> callbacks;
    {
      const std::lock_guard lock(state.mutex);
      state.done = true;
      callbacks.swap(state.callbacks);
      state.changed.notify_all();
    }
    for (auto& callback : callbacks) callback();
  }

  Commit<T> commit_;
};

}  // namespace restante
