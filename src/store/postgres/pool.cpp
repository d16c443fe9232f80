#include "store/postgres/pool.h"

namespace restante::postgres {
namespace {

constexpr auto kSpared = std::chrono::milliseconds(200);

}  // namespace

Pool::Pool(Endpoint endpoint, std::size_t most, std::chrono::milliseconds patience, Metrics* metrics)
    : endpoint_(std::move(endpoint)), most_(most), patience_(patience), metrics_(metrics) {
  // Room for all, so that giving back never allocates and so never throws.
  idle_.reserve(most_);
}

std::unique_ptr<Connection> Pool::take() {
  if (metrics_) metrics_->store_reads.Increment();
  {
    std::unique_lock lock(mutex_);
    if (!returned_.wait_for(lock, patience_, [&] { return !idle_.empty() || open_ < most_; })) {
      throw Unavailable("too many questions to the database are waiting");
    }
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
    if (std::chrono::steady_clock::now() < down_until_) throw Unavailable(why_);
    ++open_;
  }
  return connect();
}

std::unique_ptr<Connection> Pool::connect() {
  try {
    return std::make_unique<Connection>(endpoint_);
  } catch (const std::exception& e) {
    const std::lock_guard lock(mutex_);
    --open_;
    why_ = e.what();
    down_until_ = std::chrono::steady_clock::now() + kSpared;
    returned_.notify_one();
    throw Unavailable(why_);
  }
}

void Pool::give_back(std::unique_ptr<Connection> connection) {
  if (!connection->lost()) connection->rollback();
  {
    const std::lock_guard lock(mutex_);
    if (connection->lost()) {
      --open_;
    } else {
      idle_.push_back(std::move(connection));
    }
  }
  returned_.notify_one();
}

void Pool::forget_idle() {
  std::vector<std::unique_ptr<Connection>> old;
  const std::lock_guard lock(mutex_);
  open_ -= idle_.size();
  for (auto& connection : idle_) old.push_back(std::move(connection));
  idle_.clear();
}

}  // namespace restante::postgres
