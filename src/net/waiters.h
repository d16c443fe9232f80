// Waiters: which requests are parked on which topic. This is the server's bell. Arm first, then check, then park: a
// ring in between is not lost, it makes park() return at once. Waiters is thread-safe; a Waiter's park() belongs to its
// I/O thread.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <boost/asio.hpp>

#include "base/bell.h"
#include "base/metrics.h"
#include "base/mutex.h"

namespace restante::net {

namespace asio = boost::asio;

enum class Wake { rung, time_up, ended };

class Waiter : public std::enable_shared_from_this<Waiter> {
 public:
  explicit Waiter(asio::any_io_executor executor) : executor_(std::move(executor)), timer_(executor_) {}

  // Waits for a ring, the time, or the end, whichever comes first. Rings since the last park() count.
  asio::awaitable<Wake> park(std::chrono::steady_clock::time_point until);
  void ring();
  // Ends the wait: the request is answered empty. Final.
  void end();
  // Whether there was a ring since the last park() or take_ring().
  bool take_ring() { return rung_.load() && rung_.exchange(false); }
  // When the last ring came, for the wake latency.
  std::chrono::steady_clock::time_point rung_at() const { return rung_at_.load(); }

 private:
  // False when there was no memory for it.
  bool wake();

  asio::any_io_executor executor_;
  asio::steady_timer timer_;
  std::atomic<bool> rung_{false};
  std::atomic<bool> ended_{false};
  std::atomic<std::chrono::steady_clock::time_point> rung_at_{};
};

class Waiters final : public Bell {
 public:
  Waiters(std::size_t per_owner, Metrics& metrics) : per_owner_(per_owner), metrics_(metrics) {}

  // Armed until this is destroyed, on any thread.
  class Armed {
   public:
    Armed(Waiters& waiters, std::shared_ptr<Waiter> waiter, std::vector<std::string> topics, std::string owner);
    ~Armed();
    Armed(const Armed&) = delete;
    Armed& operator=(const Armed&) = delete;
    Waiter& waiter() { return *waiter_; }
    // From now on it counts as held (restante_held_polls), if it has an owner. Called once its first check found
    // nothing.
    void count();

   private:
    friend class Waiters;
    Waiters& waiters_;
    std::shared_ptr<Waiter> waiter_;
    std::vector<std::string> topics_;
    std::string owner_;
    bool counted_ = false;
  };

  // One more than the owner's limit ends the owner's oldest. Without an owner it is not a held poll: no limit, no end.
  std::unique_ptr<Armed> arm(asio::any_io_executor executor, std::vector<std::string> topics, std::string owner);
  void ring(std::string_view topic) override;
  void ring_all() override;
  void release() override;
  // Ends all waits, and every later one at once.
  void end_all();

 private:
  struct TopicHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Group = std::vector<std::shared_ptr<Waiter>>;

  const std::size_t per_owner_;
  Metrics& metrics_;
  Mutex mutex_;  // topics change on every poll, from pool and I/O threads alike
  std::unordered_map<std::string, Group, TopicHash, std::equal_to<>> topics_ RESTANTE_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Group, TopicHash, std::equal_to<>> owners_ RESTANTE_GUARDED_BY(mutex_);
  bool ended_ RESTANTE_GUARDED_BY(mutex_) = false;
};

}  // namespace restante::net
