#include "net/waiters.h"

#include <algorithm>
#include <new>
#include <thread>
#include <utility>

namespace restante::net {
namespace {

constexpr int kWakeAttempts = 100;

}  // namespace

asio::awaitable<Wake> Waiter::park(std::chrono::steady_clock::time_point until) {
  while (!ended_.load() && !rung_.load()) {
    if (std::chrono::steady_clock::now() >= until) co_return Wake::time_up;
    timer_.expires_at(until);
    boost::system::error_code ignored;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  if (ended_.load()) co_return Wake::ended;
  rung_.store(false);
  co_return Wake::rung;
}

bool Waiter::wake() {
  // A writer's thread rings, and for its caller that is only a hint: it does not wait for memory for long.
  for (int attempt = 0; attempt < kWakeAttempts; ++attempt) {
    try {
      // Only its own thread uses the timer; park() checks the flags before it sleeps.
      asio::post(executor_, [self = shared_from_this()] { self->timer_.cancel(); });
      return true;
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return false;
}

void Waiter::ring() {
  if (rung_.load()) return;
  // Before the flag: a thread that sees the flag reads the time.
  rung_at_.store(std::chrono::steady_clock::now());
  if (!rung_.exchange(true) && !wake()) rung_.store(false);  // the next ring tries again
}

void Waiter::end() {
  ended_.store(true);
  wake();
}

Waiters::Armed::Armed(Waiters& waiters, std::shared_ptr<Waiter> waiter, std::vector<std::string> topics,
                      std::string owner)
    : waiters_(waiters), waiter_(std::move(waiter)), topics_(std::move(topics)), owner_(std::move(owner)) {}

void Waiters::Armed::count() {
  if (owner_.empty() || std::exchange(counted_, true)) return;
  waiters_.metrics_.held_polls.Increment();
}

Waiters::Armed::~Armed() {
  if (counted_) waiters_.metrics_.held_polls.Decrement();
  const MutexLock lock(waiters_.mutex_);
  const auto leave = [this](auto& groups, const std::string& key) {
    const auto group = groups.find(key);
    if (group == groups.end()) return;
    std::erase(group->second, waiter_);
    if (group->second.empty()) groups.erase(group);
  };
  for (const std::string& topic : topics_) leave(waiters_.topics_, topic);
  leave(waiters_.owners_, owner_);
}

std::unique_ptr<Waiters::Armed> Waiters::arm(asio::any_io_executor executor, std::vector<std::string> topics,
                                             std::string owner) {
  auto waiter = std::make_shared<Waiter>(std::move(executor));
  // Made first: what fails below is undone by its destructor.
  auto armed = std::make_unique<Armed>(*this, waiter, std::move(topics), std::move(owner));
  std::shared_ptr<Waiter> evicted;
  {
    const MutexLock lock(mutex_);
    for (const std::string& topic : armed->topics_) topics_[topic].push_back(waiter);
    if (armed->owner_.empty()) return armed;
    if (ended_) waiter->end();
    Group& owned = owners_[armed->owner_];
    owned.push_back(waiter);
    // It is removed from the list at once, so that the next one does not end it again instead of its successor.
    if (owned.size() > per_owner_) {
      evicted = owned.front();
      owned.erase(owned.begin());
    }
  }
  if (evicted) evicted->end();
  return armed;
}

void Waiters::ring(std::string_view topic) {
  const MutexLock lock(mutex_);
  const auto group = topics_.find(topic);
  if (group == topics_.end()) return;
  for (const auto& waiter : group->second) waiter->ring();
}

void Waiters::ring_all() {
  const MutexLock lock(mutex_);
  for (auto& [topic, group] : topics_) {
    for (const auto& waiter : group) waiter->ring();
  }
}

void Waiters::end_all() {
  {
    const MutexLock lock(mutex_);
    ended_ = true;
  }
  release();
}

void Waiters::release() {
  const MutexLock lock(mutex_);
  for (auto& [owner, group] : owners_) {
    for (const auto& waiter : group) waiter->end();
  }
}

}  // namespace restante::net
