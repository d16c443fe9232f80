#include "mcp/counter.h"

#include <algorithm>

namespace restante::mcp {
namespace {

using agent::Verdict;

// How often a wait looks whether it is to end: Stop wakes no condition variable.
constexpr std::chrono::milliseconds kLookEvery{200};

}  // namespace

bool Counter::await_taker() {
  std::unique_lock lock(mutex_);
  while (tickets_.empty() && !over()) changed_.wait_for(lock, kLookEvery);
  return !over();
}

bool Counter::has_taker() const {
  const std::lock_guard lock(mutex_);
  return !tickets_.empty();
}

Verdict Counter::deliver(const agent::Delivery& delivery) {
  std::unique_lock lock(mutex_);
  if (over()) return {Verdict::What::stopped, {}, {}};
  if (tickets_.empty()) return {Verdict::What::untaken, {}, {}};
  const auto ticket = tickets_.front();
  tickets_.pop_front();
  ticket->delivery = delivery;
  in_hand_ = delivery.id;
  changed_.notify_all();
  const auto fate = ticket->fate;
  changed_.wait(lock, [&] { return *fate != Fate::pending; });
  if (*fate == Fate::written) return {};
  in_hand_.clear();
  return {Verdict::What::untaken, {}, {}};
}

std::shared_ptr<Counter::Taken> Counter::take(Call& call, std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  const auto ticket = std::make_shared<Ticket>();
  ticket->fate = std::make_shared<Fate>(Fate::pending);
  {
    const std::lock_guard lock(mutex_);
    if (over()) return {};
    tickets_.push_back(ticket);
  }
  changed_.notify_all();
  const WhenCancelled wake(call, [this] { changed_.notify_all(); });
  std::unique_lock lock(mutex_);
  while (!ticket->delivery) {
    lock.unlock();
    const bool cancelled = call.cancelled();
    lock.lock();
    if (ticket->delivery) break;
    const auto now = std::chrono::steady_clock::now();
    if (cancelled || over() || now >= until) {
      std::erase(tickets_, ticket);
      return {};
    }
    // The cancellation may come between the look and the wait; it is seen at the next look.
    changed_.wait_until(lock, std::min(until, now + kLookEvery));
  }
  return std::make_shared<Taken>(*this, std::move(*ticket->delivery), ticket->fate);
}

void Counter::Taken::finish(Fate fate) {
  {
    const std::lock_guard lock(counter_->mutex_);
    if (*fate_ == Fate::pending) *fate_ = fate;
  }
  counter_->changed_.notify_all();
}

std::string Counter::in_hand() const {
  const std::lock_guard lock(mutex_);
  return in_hand_;
}

bool Counter::closed() const {
  const std::lock_guard lock(mutex_);
  return over();
}

void Counter::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

}  // namespace restante::mcp
