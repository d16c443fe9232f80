#include "store/postgres/connections/session_pool.h"

#include <algorithm>

namespace restante::postgres {
namespace {

constexpr auto kConnectPause = std::chrono::milliseconds(200);
// Long enough for a writer to try again.
constexpr auto kFewer = std::chrono::seconds(10);

}  // namespace

SessionPool::SessionPool(ConnectionOptions endpoint, std::size_t most, std::chrono::milliseconds patience,
                         Primary& primary, Metrics* metrics)
    : endpoint_(std::move(endpoint)), most_(most), patience_(patience), primary_(primary), metrics_(metrics) {
  // Room for all, so that giving back never allocates and so never throws.
  idle_.reserve(most_);
}

std::unique_ptr<Connection> SessionPool::take() {
  if (metrics_) metrics_->store_reads.Increment();
  const auto until = end_of_wait(std::chrono::steady_clock::now() + patience_, endpoint_.shutdown_deadline);
  MutexLock lock(mutex_);
  for (;;) {
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      lock.unlock();
      if (is_usable(connection)) return connection;
      lock.lock();
      continue;
    }
    const auto now = std::chrono::steady_clock::now();
    const bool paused = now < down_until_;
    if (paused && open_ == 0) throw Unavailable(why_);
    if (!paused && open_ < most_now()) {
      ++open_;
      ++connecting_;
      lock.unlock();
      std::string why;
      auto made = connect(why);
      lock.lock();
      --connecting_;
      if (made) return made;
      --open_;
      why_ = why;
      down_until_ = std::chrono::steady_clock::now() + kConnectPause;
      returned_.notify_all();
    } else if (now >= until) {
      throw Unavailable(paused ? why_ : "too many reads of the database are waiting");
    } else {
      returned_.wait_until(lock, paused ? std::min(until, down_until_) : until);
    }
  }
}

std::unique_ptr<Connection> SessionPool::connect(std::string& why) const {
  try {
    auto made = std::make_unique<Connection>(endpoint_);
    primary_.add(*made);
    return made;
  } catch (const std::exception& e) {
    why = e.what();
    return nullptr;
  }
}

bool SessionPool::is_usable(std::unique_ptr<Connection>& connection) {
  try {
    if (primary_.has(*connection)) return true;
  } catch (...) {
    give_back(std::move(connection));
    throw;
  }
  connection.reset();
  {
    const MutexLock lock(mutex_);
    --open_;
  }
  returned_.notify_one();
  forget_idle();
  return false;
}

void SessionPool::give_back(std::unique_ptr<Connection> connection) {
  if (!connection->lost()) connection->rollback();
  {
    const MutexLock lock(mutex_);
    if (connection->lost() || open_ - connecting_ > most_now()) {
      --open_;
    } else {
      idle_.push_back(std::move(connection));
    }
  }
  returned_.notify_one();
}

std::size_t SessionPool::most_now() const { return std::chrono::steady_clock::now() < fewer_until_ ? fewer_ : most_; }

void SessionPool::make_room() {
  std::unique_ptr<Connection> closed;
  const MutexLock lock(mutex_);
  // A session that is being opened may fail: it is not the one that is left.
  const std::size_t usable = open_ - connecting_;
  if (usable < 2) return;
  fewer_ = usable - 1;
  fewer_until_ = std::chrono::steady_clock::now() + kFewer;
  if (idle_.empty()) return;  // then give_back() closes the next one
  closed = std::move(idle_.back());
  idle_.pop_back();
  --open_;
}

void SessionPool::forget_idle() {
  std::vector<std::unique_ptr<Connection>> old;
  const MutexLock lock(mutex_);
  // Reserved before anything changes: idle_ has room for all, always.
  old.reserve(most_);
  open_ -= idle_.size();
  old.swap(idle_);
}

}  // namespace restante::postgres
