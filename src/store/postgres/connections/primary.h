// Primary is the PostgreSQL server that this process works on. After a switchover the old server may still answer
// reads, but what is committed on the new one is not visible there, not even that a token was revoked. So every session
// is compared with the server on which a session was last found to take writes, and is not used on another one. When a
// session was lost, or its server takes no writes any more, the primary is in doubt: then every session is asked again
// before it is used. Each session is used by one thread at a time; otherwise thread-safe. A question to a session
// throws what failures.h lists.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/mutex.h"
#include "store/postgres/connections/connection.h"

namespace restante::postgres {

class Primary {
 public:
  // `forget` is called when another server becomes the primary and when the primary comes into doubt, before a session
  // passes a check: answers that were read before may be old. It must not throw, nor use this object.
  explicit Primary(std::function<void()> forget) : forget_(std::move(forget)) {}

  // For a session that was just opened. If it takes writes, its server is the primary from now on. Returns false when
  // it takes none, but no other server is known to take any. Throws Lost when another one is.
  bool add(Connection& session);
  // For a session that was opened earlier: whether it is still on the primary. If not, it must be closed. The session
  // is asked only when no session was asked for some time, or when the primary was in doubt since it was asked.
  bool has(Connection& session);
  // As has(), but the session is asked in any case.
  bool ask(Connection& session);
  // Asks nothing: whether this is the server that was last found to take writes.
  bool is_on(const Connection& session) const;

  // A session was lost, or failed because its server takes no writes.
  void doubt();
  // Grows with every doubt and every change.
  std::uint64_t generation() const;

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;

  struct Answer;
  static Answer question(Connection& session);
  void begin_doubt() RESTANTE_REQUIRES(mutex_);
  void change_to(const Answer& answer) RESTANTE_REQUIRES(mutex_);
  void pass(Connection& session, const Answer& answer) RESTANTE_REQUIRES(mutex_);

  const std::function<void()> forget_;
  mutable Mutex mutex_;
  std::optional<Time> server_start_ RESTANTE_GUARDED_BY(mutex_);  // of the primary
  bool takes_writes_ RESTANTE_GUARDED_BY(mutex_) = false;         // as far as is known; false in doubt
  std::uint64_t generation_ RESTANTE_GUARDED_BY(mutex_) = 0;
  SteadyTime asked_ RESTANTE_GUARDED_BY(mutex_){};  // when the last session that passed was asked
};

}  // namespace restante::postgres
