// Flights: how many bytes of all drafts together are on their way to the database. The writer's queue refuses what is
// too much; whoever takes off here first waits instead, in the order of asking, so that two hundred uploads at once are
// slow and none is refused. Thread-safe.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace restante::inlined {

class Flights {
 public:
  explicit Flights(std::size_t most) : most_(most) {}

 private:
  friend class Flight;
  void take_off(std::size_t bytes);
  void land(std::size_t bytes);

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t flying_ = 0;   // bytes
  std::uint64_t asked_ = 0;  // how many have asked, and how many of them were let go
  std::uint64_t gone_ = 0;
};

// Room for so many bytes, for as long as this lives. Made, it waits until there is; what is larger than all room flies
// alone.
class Flight {
 public:
  Flight(std::shared_ptr<Flights> flights, std::size_t bytes) : flights_(std::move(flights)), bytes_(bytes) {
    flights_->take_off(bytes_);
  }
  ~Flight() { flights_->land(bytes_); }
  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;

 private:
  const std::shared_ptr<Flights> flights_;
  const std::size_t bytes_;
};

}  // namespace restante::inlined
