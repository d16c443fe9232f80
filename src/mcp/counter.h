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

class Counter final : public agent::Handover {
 public:
  explicit Counter(const agent::Stop& stop) : stop_(stop) {}

  bool await_taker() override;
  bool has_taker() const override;
  agent::Verdict deliver(const agent::Delivery& delivery) override;

  // A delivery in the taker's hands. finish() says what came of it; without it, it was not taken.
  enum class Fate { pending, written, put_back };
  class Taken {
   public:
    Taken(Counter& counter, agent::Delivery delivery, std::shared_ptr<Fate> fate)
        : counter_(&counter), delivery_(std::move(delivery)), fate_(std::move(fate)) {}
    ~Taken() { finish(Fate::put_back); }
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;

    const agent::Delivery& delivery() const { return delivery_; }
    // Only the first time counts.
    void finish(Fate fate);

   private:
    Counter* counter_;
    agent::Delivery delivery_;
    std::shared_ptr<Fate> fate_;
  };

  // Null when the time is up, the call was cancelled, or the counter is closed.
  std::shared_ptr<Taken> take(Call& call, std::chrono::milliseconds time);
  // The delivery that is in somebody's hands, or was last; empty: none yet.
  std::string in_hand() const;
  // Nobody will take anything any more.
  void close();
  bool closed() const;

 private:
  struct Ticket {
    std::optional<agent::Delivery> delivery;
    std::shared_ptr<Fate> fate;
  };

  bool over() const { return closed_ || stop_.requested(); }

  const agent::Stop& stop_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Ticket>> tickets_;
  std::string in_hand_;
  bool closed_ = false;
};

}  // namespace restante::mcp
