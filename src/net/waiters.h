// Waiters: who is parked on which topic. The bell of the server. Arm first, then look, then park: what rings in between
// is not lost, it makes park() return at once. Waiters is thread-safe; a Waiter's park() belongs to its I/O thread.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <boost/asio.hpp>

#include "base/bell.h"
#include "base/metrics.h"

namespace restante::net {

namespace asio = boost::asio;

enum class Wake { rung, time_up, ended };

class Waiter : public std::enable_shared_from_this<Waiter> {
 public:
  explicit Waiter(asio::any_io_executor home) : home_(std::move(home)), timer_(home_) {}

  // Until a ring, the time, or the end, whichever is first. Rings since the last park() count.
  asio::awaitable<Wake> park(std::chrono::steady_clock::time_point until);
  void ring();
  // No more waiting: the request is answered empty. Stays so.
  void end();
  // Whether something rang since the last park() or take_ring().
  bool take_ring() { return rung_.load() && rung_.exchange(false); }
  // When the last ring came, for the wake latency.
  std::chrono::steady_clock::time_point rung_at() const { return rung_at_.load(); }

 private:
  void wake();

  asio::any_io_executor home_;
  asio::steady_timer timer_;
  std::atomic<bool> rung_{false};
  std::atomic<bool> ended_{false};
  std::atomic<std::chrono::steady_clock::time_point> rung_at_{};
};

class Waiters final : public Bell {
 public:
  Waiters(std::size_t per_owner, Metrics& metrics) : per_owner_(per_owner), metrics_(metrics) {}

  // Held until this is destroyed, on any thread.
  class Armed {
   public:
    Armed(Waiters& waiters, std::shared_ptr<Waiter> waiter, std::vector<std::string> topics, std::string owner);
    ~Armed();
    Armed(const Armed&) = delete;
    Armed& operator=(const Armed&) = delete;
    Waiter& waiter() { return *waiter_; }
    // From now on it counts as held (restante_held_polls), if it has an owner. Called once its first look found
    // nothing.
    void count();

   private:
    Waiters& waiters_;
    std::shared_ptr<Waiter> waiter_;
    std::vector<std::string> topics_;
    std::string owner_;
    bool counted_ = false;
  };

  // One more than the owner's cap ends the owner's oldest. Without an owner it is no held poll: no cap, no end.
  std::unique_ptr<Armed> arm(asio::any_io_executor home, std::vector<std::string> topics, std::string owner);
  void ring(std::string_view topic) override;
  void ring_all() override;
  void release() override;
  // From now on nobody waits: those who do are ended, those who come are ended at once.
  void end_all();

 private:
  struct TopicHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Group = std::vector<std::shared_ptr<Waiter>>;

  const std::size_t per_owner_;
  Metrics& metrics_;
  std::mutex mutex_;  // topics change on every poll, from pool and I/O threads alike
  std::unordered_map<std::string, Group, TopicHash, std::equal_to<>> topics_;
  std::unordered_map<std::string, Group, TopicHash, std::equal_to<>> owners_;
  bool ended_ = false;
};

}  // namespace restante::net
