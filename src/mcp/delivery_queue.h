// Counter: where deliveries wait until the model asks for one. A delivery counts as handed over when the answer that
// carries it was written out, not before: what a call leaves that is cancelled, times out or loses its reader is
// `untaken`, as is what nobody is there for.
// Takers are served in the order they came. Thread-safe: one porter brings, any number of calls take.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "agent/handover.h"
#include "mcp/call.h"

namespace restante::mcp {

class DeliveryQueue final : public agent::Handover {
 public:
  explicit DeliveryQueue(const agent::Stop& stop) : stop_(stop) {}

  bool wait_for_receiver() override;
  bool has_receiver() const override;
  agent::HandoverResult deliver(const agent::Delivery& delivery) override;

  // A delivery in the taker's hands. finish() says what came of it; without it, it was not taken.
  enum class DeliveryOutcome { pending, written, put_back };
  class TakenDelivery {
   public:
    TakenDelivery(DeliveryQueue& delivery_queue, agent::Delivery delivery, std::shared_ptr<DeliveryOutcome> outcome)
        : delivery_queue_(&delivery_queue), delivery_(std::move(delivery)), outcome_(std::move(outcome)) {}
    ~TakenDelivery() { finish(DeliveryOutcome::put_back); }
    TakenDelivery(const TakenDelivery&) = delete;
    TakenDelivery& operator=(const TakenDelivery&) = delete;

    const agent::Delivery& delivery() const { return delivery_; }
    // Only the first time counts.
    void finish(DeliveryOutcome outcome);

   private:
    DeliveryQueue* delivery_queue_;
    agent::Delivery delivery_;
    std::shared_ptr<DeliveryOutcome> outcome_;
  };

  // Null when the time is up, the call was cancelled, or the counter is closed.
  std::shared_ptr<TakenDelivery> take(Call& call, std::chrono::milliseconds time);
  // The delivery that is in somebody's hands, or was last; empty: none yet.
  std::string current_delivery() const;
  // Nobody will take anything any more.
  void close();
  bool closed() const;

 private:
  struct WaitingReceiver {
    std::optional<agent::Delivery> delivery;
    std::shared_ptr<DeliveryOutcome> outcome;
  };

  bool over() const { return closed_ || stop_.requested(); }

  const agent::Stop& stop_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<WaitingReceiver>> receivers_;
  std::string current_delivery_;
  bool closed_ = false;
};

}  // namespace restante::mcp
