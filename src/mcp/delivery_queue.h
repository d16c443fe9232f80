// DeliveryQueue: deliveries that wait for a tool call. A delivery counts as handed over when the answer that contains
// it was written, not before. When its call is cancelled, times out or loses its reader, or when no call waits, the
// result is `not_taken`. Calls are served in the order they came. Thread-safe: one delivery loop delivers, any number
// of calls take.
#pragma once
#include <chrono>
#include <deque>
#include <memory>
#include <optional>

#include "agent/handover.h"
#include "base/mutex.h"
#include "mcp/call.h"

namespace restante::mcp {

class DeliveryQueue final : public agent::Handover {
 public:
  explicit DeliveryQueue(const agent::Stop& stop) : stop_(stop) {}

  bool wait_for_receiver() override;
  bool has_receiver() const override;
  agent::HandoverResult deliver(const agent::Delivery& delivery) override;

  // A delivery that a call has taken. The call reports the outcome with finish(); without it, the delivery is put back.
  enum class DeliveryOutcome { pending, written, put_back };
  class TakenDelivery {
   public:
    TakenDelivery(DeliveryQueue& delivery_queue, agent::Delivery delivery, std::shared_ptr<DeliveryOutcome> outcome)
        : delivery_queue_(&delivery_queue), delivery_(std::move(delivery)), outcome_(std::move(outcome)) {}
    ~TakenDelivery() { finish(DeliveryOutcome::put_back); }
    TakenDelivery(const TakenDelivery&) = delete;
    TakenDelivery& operator=(const TakenDelivery&) = delete;

    const agent::Delivery& delivery() const { return delivery_; }
    // Only the first call counts.
    void finish(DeliveryOutcome outcome);

   private:
    DeliveryQueue* const delivery_queue_;
    agent::Delivery delivery_;
    const std::shared_ptr<DeliveryOutcome> outcome_ RESTANTE_GUARDED_BY(delivery_queue_->mutex_);
  };

  // Null when the time is up, the call was cancelled, or the queue is closed.
  std::shared_ptr<TakenDelivery> take(Call& call, std::chrono::milliseconds time);
  // The id of the delivery that a call has taken now, or took last; empty: none yet.
  std::string current_delivery() const;
  // No call takes a delivery after this.
  void close();
  bool closed() const;

 private:
  // Used only while mutex_ is locked: a call and the delivery loop share it.
  struct WaitingReceiver {
    std::optional<agent::Delivery> delivery;
    std::shared_ptr<DeliveryOutcome> outcome;
  };

  bool over() const RESTANTE_REQUIRES(mutex_) { return closed_ || stop_.requested(); }

  const agent::Stop& stop_;
  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::deque<std::shared_ptr<WaitingReceiver>> receivers_ RESTANTE_GUARDED_BY(mutex_);
  std::string current_delivery_ RESTANTE_GUARDED_BY(mutex_);
  bool closed_ RESTANTE_GUARDED_BY(mutex_) = false;
};

}  // namespace restante::mcp
