// SessionPool lends sessions for reading, one at a time, and opens them when they are needed. A read waits for a
// session for a limited time. A session that was lost is replaced, and the read is repeated, because reading twice
// changes nothing. While the server cannot be reached, reads fail at once instead of trying to connect each. When only
// the number of sessions is exhausted, reads wait for the open ones, and one session is left to the writers. No read is
// made on another server than the primary. Thread-safe. Throws Unavailable.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "base/mutex.h"
#include "store/postgres/connections/connection.h"
#include "store/postgres/connections/primary.h"

namespace restante::postgres {

class SessionPool {
 public:
  // `primary` lives longer than this.
  SessionPool(ConnectionOptions endpoint, std::size_t most, std::chrono::milliseconds patience, Primary& primary,
              Metrics* metrics);

  // Returns what `body(Connection&)` returns. It must not point into an answer.
  template <class Body>
  auto use(Body body) {
    try {
      Lease lease(*this);
      return body(*lease.connection);
    } catch (const Stalled&) {
      primary_.doubt();
      throw;
    } catch (const Lost&) {
      primary_.doubt();
      forget_idle();
    }
    Lease lease(*this);
    return body(*lease.connection);
  }

  // A writer cannot open a session: the pool uses one less for a while, unless it has only one.
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
  std::size_t most_now() const RESTANTE_REQUIRES(mutex_);
  // Null when it failed; `why` is then the reason.
  std::unique_ptr<Connection> connect(std::string& why) const;
  // Whether an idle session may be used. If not, it and the other idle ones are closed.
  bool is_usable(std::unique_ptr<Connection>& connection);
  void give_back(std::unique_ptr<Connection> connection);
  // The idle ones were opened at about the same time as the lost one, and are probably lost, too.
  void forget_idle();

  const ConnectionOptions endpoint_;
  const std::size_t most_;
  const std::chrono::milliseconds patience_;
  Primary& primary_;
  Metrics* const metrics_;
  Mutex mutex_;
  ConditionVariable returned_;
  std::vector<std::unique_ptr<Connection>> idle_ RESTANTE_GUARDED_BY(mutex_);
  std::size_t open_ RESTANTE_GUARDED_BY(mutex_) = 0;  // lent out, idle, and connecting
  std::size_t connecting_ RESTANTE_GUARDED_BY(mutex_) = 0;
  std::chrono::steady_clock::time_point down_until_ RESTANTE_GUARDED_BY(mutex_){};
  std::size_t fewer_ RESTANTE_GUARDED_BY(mutex_) = 0;  // the limit until fewer_until_
  std::chrono::steady_clock::time_point fewer_until_ RESTANTE_GUARDED_BY(mutex_){};
  std::string why_ RESTANTE_GUARDED_BY(mutex_);
};

}  // namespace restante::postgres
