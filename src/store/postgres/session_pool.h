// Pool: sessions for reading, lent out one at a time and made as they are needed. A question waits a bounded time for
// one; a session that was lost is replaced, and the question asked again, since asking twice changes nothing. While the
// server is gone, questions are answered so at once and not each after its own attempt; while it only has no more
// sessions for us, they wait for those that there are, and leave one to whoever writes. Thread-safe. Throws
// Unavailable.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "store/postgres/connection.h"

namespace restante::postgres {

class SessionPool {
 public:
  SessionPool(ConnectionOptions endpoint, std::size_t most, std::chrono::milliseconds patience, Metrics* metrics);

  // What `body(Connection&)` gives, which must not point into an answer.
  template <class Body>
  auto use(Body body) {
    try {
      Lease lease(*this);
      return body(*lease.connection);
    } catch (const Stalled&) {
      throw;
    } catch (const Lost&) {
      forget_idle();
    }
    Lease lease(*this);
    return body(*lease.connection);
  }

  // Somebody else gets no session: there is one less here for a while, unless it is the only one.
  void make_room();

 private:
  struct Lease {
    explicit Lease(SessionPool& from) : pool(from), connection(from.take()) {}
    ~Lease() { pool.give_back(std::move(connection)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    SessionPool& pool;
    std::unique_ptr<Connection> connection;
  };

  std::unique_ptr<Connection> take();
  std::size_t most_now() const;
  // Null when it failed; why_ tells. The lock is let go meanwhile.
  std::unique_ptr<Connection> connect(std::unique_lock<std::mutex>& lock);
  void give_back(std::unique_ptr<Connection> connection);
  // They are of the same age as the one that was lost.
  void forget_idle();

  const ConnectionOptions endpoint_;
  const std::size_t most_;
  const std::chrono::milliseconds patience_;
  Metrics* const metrics_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Connection>> idle_;       // under mutex_
  std::size_t open_ = 0;                                // under mutex_: lent out, idle, and being made
  std::chrono::steady_clock::time_point down_until_{};  // under mutex_
  std::size_t fewer_ = 0;                               // under mutex_: as many as there may be until then
  std::chrono::steady_clock::time_point fewer_until_{};
  std::string why_;  // under mutex_
};

}  // namespace restante::postgres
