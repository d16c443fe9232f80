#include "mcp/delivery_queue.h"

#include <algorithm>

namespace restante::mcp {
namespace {

using agent::HandoverResult;

// How often a wait checks for the stop: Stop wakes no condition variable.
constexpr std::chrono::milliseconds kStopCheckInterval{200};

}  // namespace

bool DeliveryQueue::wait_for_receiver() {
  MutexLock lock(mutex_);
  while (receivers_.empty() && !over()) changed_.wait_for(lock, kStopCheckInterval);
  return !over();
}

bool DeliveryQueue::has_receiver() const {
  const MutexLock lock(mutex_);
  return !receivers_.empty();
}

HandoverResult DeliveryQueue::deliver(const agent::Delivery& delivery) {
  MutexLock lock(mutex_);
  if (over()) return {HandoverResult::What::stopped, {}, {}};
  if (receivers_.empty()) return {HandoverResult::What::not_taken, {}, {}};
  const auto receiver = receivers_.front();
  receivers_.pop_front();
  receiver->delivery = delivery;
  current_delivery_ = delivery.id;
  changed_.notify_all();
  const auto outcome = receiver->outcome;
  while (*outcome == DeliveryOutcome::pending) changed_.wait(lock);
  if (*outcome == DeliveryOutcome::written) return {};
  current_delivery_.clear();
  return {HandoverResult::What::not_taken, {}, {}};
}

std::shared_ptr<DeliveryQueue::TakenDelivery> DeliveryQueue::take(Call& call, std::chrono::milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  const auto receiver = std::make_shared<WaitingReceiver>();
  receiver->outcome = std::make_shared<DeliveryOutcome>(DeliveryOutcome::pending);
  {
    const MutexLock lock(mutex_);
    if (over()) return {};
    receivers_.push_back(receiver);
  }
  changed_.notify_all();
  const WhenCancelled wake(call, [this] { changed_.notify_all(); });
  MutexLock lock(mutex_);
  while (!receiver->delivery) {
    lock.unlock();
    const bool cancelled = call.cancelled();
    lock.lock();
    if (receiver->delivery) break;
    const auto now = std::chrono::steady_clock::now();
    if (cancelled || over() || now >= until) {
      std::erase(receivers_, receiver);
      return {};
    }
    // A cancellation between the check and the wait is seen at the next check.
    changed_.wait_until(lock, std::min(until, now + kStopCheckInterval));
  }
  return std::make_shared<TakenDelivery>(*this, std::move(*receiver->delivery), receiver->outcome);
}

void DeliveryQueue::TakenDelivery::finish(DeliveryOutcome outcome) {
  {
    const MutexLock lock(delivery_queue_->mutex_);
    if (*outcome_ == DeliveryOutcome::pending) *outcome_ = outcome;
  }
  delivery_queue_->changed_.notify_all();
}

std::string DeliveryQueue::current_delivery() const {
  const MutexLock lock(mutex_);
  return current_delivery_;
}

bool DeliveryQueue::closed() const {
  const MutexLock lock(mutex_);
  return over();
}

void DeliveryQueue::close() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

}  // namespace restante::mcp
